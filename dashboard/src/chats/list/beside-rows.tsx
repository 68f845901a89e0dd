import { memo } from "react";
import { Link } from "wouter";
import type { ChatListRow } from "../../api/openapi-types.ts";
import { chatAddress } from "../../shell/routes.ts";
import { chatName, untitledId } from "../chat-link.tsx";
import { ChatMenu } from "../chat-menu.tsx";
import { useActivity } from "./activity.ts";
import { addressOf, FoundName, Marked, Match, matchesInWords } from "./chat-item.tsx";

interface BesideRowProps {
  readonly row: ChatListRow;
  readonly isCurrent: boolean;
}

/** One chat beside the talk, by its name. */
export const BesideRow = memo(function BesideRow({ row, isCurrent }: BesideRowProps) {
  return (
    <li className="beside-row" tabIndex={-1}>
      <Link
        className="beside-link"
        to={chatAddress(row.chat_id)}
        aria-current={isCurrent ? "page" : undefined}
        title={untitledId(row) ?? chatName(row)}
      >
        <span className="clip beside-title" dir="auto">
          {chatName(row)}
        </span>
        <Marks row={row} />
      </Link>
      <ChatMenu chat={row} inList />
    </li>
  );
});

/** In a word, what there is to know of it before it is opened. */
function Marks({ row }: { readonly row: ChatListRow }) {
  const what = useActivity().get(row.chat_id);
  if (row.damaged) return <span className="tag tag-danger">damaged</span>;
  if (what === "answering") return <span className="tag">answering</span>;
  if (row.unanswered) return <span className="tag">unanswered</span>;
  return what === "new" ? <span className="tag tag-accent">new</span> : null;
}

interface FoundRowProps {
  readonly row: ChatListRow;
  readonly query: string;
}

/** A chat that was found, with the message that has the words; it opens there. */
export function FoundRow({ row, query }: FoundRowProps) {
  const { match, chat_id: id } = row;
  return (
    <li className="beside-row">
      <Link className="beside-link beside-found" to={addressOf(row, query)}>
        <span className="clip beside-title" dir="auto" title={untitledId(row)}>
          <FoundName row={row} query={query} />
        </span>
        {match === undefined ? (
          <span className="chat-item-match">
            <Marked text={id} query={query} />
          </span>
        ) : (
          <>
            <Match message={match} query={query} />
            <span className="beside-count">{matchesInWords(row)}</span>
          </>
        )}
      </Link>
    </li>
  );
}
