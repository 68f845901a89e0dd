import { Link } from "wouter";
import type { ChatListRow, Message } from "../../api/openapi-types.ts";
import { chatAddress, messageAddress } from "../../shell/routes.ts";
import { counted } from "../../ui/in-words.ts";
import { When } from "../../ui/time.tsx";
import { chatName, untitledId } from "../chat-link.tsx";
import { ChatMenu } from "../chat-menu.tsx";
import { providerName } from "../models/model-names.ts";
import { excerpt } from "./excerpt.ts";

interface ChatItemProps {
  readonly row: ChatListRow;
  readonly query: string;
}

/** The address of a chat of the list, at the message that matched. */
export function addressOf({ chat_id: id, match }: ChatListRow, query: string): string {
  return match === undefined ? chatAddress(id) : messageAddress(id, match, query);
}

/** One chat of the list. */
export function ChatItem({ row, query }: ChatItemProps) {
  const { chat_id: id, message_count: count, provider, last_active: at, match } = row;
  const isNamed = query !== "" && match === undefined;
  return (
    <li className="chat-item">
      <Link className="chat-item-link" to={addressOf(row, query)}>
        <span className="clip chat-item-title" dir="auto" title={untitledId(row)}>
          <FoundName row={row} query={query} />
        </span>
        {match === undefined ? null : <Match message={match} query={query} />}
        {isNamed ? (
          <span className="chat-item-match">
            <Marked text={id} query={query} />
          </span>
        ) : null}
        <span className="row hint chat-item-facts">
          {match === undefined ? <When at={at} /> : <span>{matchesInWords(row)}</span>}
          <span>{counted(count, "message")}</span>
          {provider === "" ? null : <span>{providerName(provider)}</span>}
          {row.unanswered ? <span className="tag tag-accent">unanswered</span> : null}
          {row.damaged ? <span className="tag tag-danger">damaged</span> : null}
        </span>
      </Link>
      <ChatMenu chat={row} inList />
    </li>
  );
}

/** The message that was found: when it was said, and the words around the first hit. */
export function Match({ message, query }: { readonly message: Message; readonly query: string }) {
  // A message is found by the names of its files, too.
  const names = (message.attachments ?? []).map(({ name }) => name);
  return (
    <span className="chat-item-match" dir="auto">
      <When at={message.timestamp} className="chat-item-when" />{" "}
      <Marked text={[message.content, ...names].join(" ")} query={query} />
    </span>
  );
}

/** The name of a chat that was found: from its beginning, unless the name alone has the words. */
export function FoundName({ row, query }: ChatItemProps) {
  if (query === "") return chatName(row);
  return (
    <Marked text={chatName(row)} query={query} before={row.match === undefined ? 12 : Infinity} />
  );
}

interface MarkedProps {
  readonly text: string;
  readonly query: string;
  /** How much of the text stands before the first hit, in UTF-16 units. */
  readonly before?: number;
}

export function Marked({ text, query, before }: MarkedProps) {
  return excerpt(text, query, before).map((piece) =>
    piece.isHit ? <mark key={piece.at}>{piece.text}</mark> : piece.text,
  );
}

/** The server counts no more than this. */
const maxCounted = 100;

export function matchesInWords({ match_count: count = 1 }: ChatListRow): string {
  if (count >= maxCounted) return `${maxCounted} or more matches`;
  return count === 1 ? "1 match" : `${count} matches`;
}
