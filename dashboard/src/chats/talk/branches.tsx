import "./branches.css";
import { useMemo } from "react";
import { Link } from "wouter";
import type { Chat, LinkedChat } from "../../api/openapi-types.ts";
import { chatAddress, messageAddress } from "../../shell/routes.ts";
import { Icon } from "../../ui/icon.tsx";
import { fullTime } from "../../ui/in-words.ts";
import { chatName } from "../chat-link.tsx";

/** By the last message that each copied; under "" those that copied none. */
export type BranchesByMessage = ReadonlyMap<string, readonly LinkedChat[]>;

/** The branches of a chat: the same value while they are the same. */
export function useBranches(chat: Chat | null | undefined): BranchesByMessage {
  const branches = chat?.branches;
  return useMemo(() => Map.groupBy(branches ?? [], ({ message_id: id }) => id ?? ""), [branches]);
}

/** The chats that begin here: one as a link, more as a list that opens. */
export function Branches({
  branches = [],
}: {
  readonly branches: readonly LinkedChat[] | undefined;
}) {
  const [first] = branches;
  if (first === undefined) return null;
  const label = branches.length === 1 ? "1 branch" : `${branches.length} branches`;
  if (branches.length === 1) {
    return (
      <Link className="branches-one" to={chatAddress(first.chat_id)} title={chatName(first)}>
        <Icon name="fork" size={15} /> {label}
      </Link>
    );
  }
  return (
    <details className="branches">
      <summary>
        <Icon name="fork" size={15} /> {label}
      </summary>
      <ul>
        {branches.map((branch) => (
          <li key={branch.chat_id}>
            <Link to={chatAddress(branch.chat_id)}>{chatName(branch)}</Link>{" "}
            <time dateTime={branch.created_at}>{fullTime(branch.created_at)}</time>
          </li>
        ))}
      </ul>
    </details>
  );
}

interface BeginningProps {
  /** The chat that this one was branched from. */
  readonly origin: LinkedChat | undefined;
  /** Branches without anything of this chat: of its first message, edited. */
  readonly branches: readonly LinkedChat[] | undefined;
}

/** What stands at the beginning of a chat. */
export function Beginning({ origin, branches }: BeginningProps) {
  return (
    <>
      {origin === undefined ? "Start of the chat" : <Origin origin={origin} />}
      <Branches branches={branches} />
    </>
  );
}

/** Where a chat was branched from, with the way to that message. */
function Origin({ origin }: { readonly origin: LinkedChat }) {
  const { chat_id: chatId, message_id: id, seq } = origin;
  const isPlace = id !== undefined && seq !== undefined;
  return (
    <span>
      Branched from{" "}
      <Link to={isPlace ? messageAddress(chatId, { id, seq }) : chatAddress(chatId)}>
        “{chatName(origin)}”
      </Link>
    </span>
  );
}
