import type { WorkingMemory } from "../../api/openapi-types.ts";
import { spanInWords } from "../../ui/in-words.ts";
import { ChatLink } from "../chat-link.tsx";

/** With more places than these, only the number is shown. */
const mostDots = 12;

interface Props {
  readonly memory: WorkingMemory["chats"][number];
  /** Seconds since the memory was loaded. */
  readonly elapsed: number;
}

/** One chat's working memory: how full it is, since when, and its text. */
export function ChatMemory({ memory, elapsed }: Props) {
  const { chat_id: chatId, capacity, count, full, summary, last_turn: lastTurn } = memory;
  return (
    <article className="card">
      <header className="memory-head">
        <h2>
          <ChatLink chatId={chatId} />
        </h2>
        <p className="memory-count">
          {capacity > mostDots ? null : <Dots count={count} capacity={capacity} />}
          {count} of {capacity}
          {full ? ", full: the oldest is removed next" : ""}
        </p>
      </header>
      {summary === "" ? (
        <p className="hint">Empty.</p>
      ) : (
        <blockquote className="memory-text">{summary}</blockquote>
      )}
      <p className="hint">
        {lastTurn === 0 ? "No turn yet" : `Up to turn ${lastTurn.toLocaleString("en-GB")}`}, started{" "}
        {spanInWords(memory.session_age_seconds + elapsed)} ago
      </p>
    </article>
  );
}

function Dots({ count, capacity }: { readonly count: number; readonly capacity: number }) {
  return (
    <span className="memory-dots" aria-hidden="true">
      {Array.from({ length: capacity }, (_, place) => place).map((place) => (
        <i key={place} className={place < count ? "is-taken" : ""} />
      ))}
    </span>
  );
}
