import { Link } from "wouter";
import type { ChatRow, Message } from "../api/types.ts";
import { chatAddress, messageAddress } from "../routes.ts";
import { When } from "../ui/when.tsx";
import { ChatMenu } from "./chat-menu.tsx";
import { chatName, untitledId } from "./chat-name.ts";
import { excerpt } from "./excerpt.ts";

interface ChatItemProps {
  readonly row: ChatRow;
  readonly query: string;
}

/** One chat of the list. */
export function ChatItem({ row, query }: ChatItemProps) {
  const { chat_id: id, message_count: count, provider, last_active: at, match } = row;
  const to = match === undefined ? chatAddress(id) : messageAddress(id, match);
  return (
    <li className="chat-item">
      <Link className="chat-item-link" to={to}>
        <span className="chat-item-title" dir="auto" title={untitledId(row)}>
          {chatName(row)}
        </span>
        {match === undefined ? null : <Match message={match} query={query} />}
        <span className="chat-item-facts">
          <When at={at} />
          <span>{count === 1 ? "1 message" : `${count.toLocaleString()} messages`}</span>
          {provider === "" ? null : <span>{provider}</span>}
          {row.unanswered ? <span className="tag tag-accent">unanswered</span> : null}
          {row.damaged ? <span className="tag tag-danger">damaged</span> : null}
        </span>
      </Link>
      <ChatMenu chat={row} inList />
    </li>
  );
}

function Match({ message, query }: { readonly message: Message; readonly query: string }) {
  return (
    <span className="chat-item-match" dir="auto">
      {excerpt(message.content, query).map(({ text, isHit, at }) =>
        isHit ? <mark key={at}>{text}</mark> : text,
      )}
    </span>
  );
}
