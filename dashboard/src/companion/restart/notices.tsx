import type { Delivery } from "../../api/openapi-types.ts";
import { ChatLink } from "../../chats/chat-link.tsx";
import { CopyButton } from "../../ui/action.tsx";
import { QueryError } from "../../ui/error-note.tsx";
import { Empty, Loading } from "../../ui/page.tsx";
import { When } from "../../ui/time.tsx";
import { useRestart } from "../use-companion.ts";
import { kindWords } from "./restart-words.ts";

const partWords = { session: "recent messages and mood" } as const;

/** The exact text that the model of each chat received after the restart, or will receive. */
export function Notices() {
  const query = useRestart();
  const { data, isPending } = query;
  const [first, ...others] = data?.deliveries ?? [];
  return (
    <section aria-labelledby="notices-title">
      <h2 id="notices-title">Restart notices</h2>
      <p className="hint">
        The exact text that the model of each chat receives, once, with its first answer after a
        restart.
      </p>
      <QueryError query={query} />
      {isPending ? <Loading label="Loading the notices" /> : null}
      {data?.deliveries.length === 0 ? (
        <Empty title="No notices">
          There is nothing to report after a first start. Chats appear here after the next restart.
        </Empty>
      ) : null}
      <div className="stack notices">
        {first === undefined ? null : <Notice delivery={first} />}
        {others.length === 0 ? null : (
          <details>
            <summary className="unfold">
              {others.length === 1 ? "One more chat" : `${others.length} more chats`}
            </summary>
            <div className="stack notices">
              {others.map((delivery) => (
                <Notice key={delivery.chat_id} delivery={delivery} />
              ))}
            </div>
          </details>
        )}
      </div>
    </section>
  );
}

function Notice({ delivery }: { readonly delivery: Delivery }) {
  const { chat_id: chatId, status, text, at } = delivery;
  return (
    <article className="card">
      <header className="row notice-head">
        <h3>
          <ChatLink chatId={chatId} />
        </h3>
        <span className={status === "delivered" ? "tag tag-accent" : "tag"}>
          {status === "delivered" ? "Delivered" : "Waiting for the next message"}
        </span>
        {at === null ? null : <When className="hint" at={at} />}
        <CopyButton text={text} className="notice-copy" />
      </header>
      <p className="hint">{noticeInWords(delivery)}</p>
      {text === "" ? (
        <p>Empty.</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, by keyboard too
        <section className="notice-text" aria-label={`Notice for ${chatId}`} tabIndex={0}>
          <pre>{text}</pre>
        </section>
      )}
    </article>
  );
}

/** After what kind of restart, and what the text has. */
function noticeInWords({ kind, parts }: Delivery): string {
  const of = parts.map((part) => partWords[part]).join(", and ");
  const title = kind === "fresh_start" ? "New chat" : kindWords[kind].title;
  return `${title}${of === "" ? "" : `, with ${of}`}.`;
}
