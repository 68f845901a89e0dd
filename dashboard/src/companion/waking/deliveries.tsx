import { useState } from "react";
import type { Delivery } from "../../api/openapi-types.ts";
import { ChatLink } from "../../chats/chat-link.tsx";
import { Button } from "../../ui/button.tsx";
import { QueryError } from "../../ui/error-note.tsx";
import { Empty, Loading } from "../../ui/page.tsx";
import { When } from "../../ui/time.tsx";
import { useRestart } from "../use-companion.ts";
import { kindWords } from "./restart-words.ts";

const partWords = { session: "what was said and felt" } as const;

/** The very text that each chat's model was given when it woke, or will be given. */
export function Deliveries() {
  const query = useRestart();
  const { data, isPending } = query;
  const [first, ...others] = data?.deliveries ?? [];
  return (
    <section aria-labelledby="deliveries-title">
      <h2 id="deliveries-title">What it was told</h2>
      <p className="hint">Word for word, once in each chat, with the first answer after waking.</p>
      <QueryError query={query} />
      {isPending ? <Loading label="Loading the texts" /> : null}
      {data?.deliveries.length === 0 ? (
        <Empty title="Nothing to tell">
          After a first start there is nothing from before. A later run finds its chats here.
        </Empty>
      ) : null}
      <div className="deliveries">
        {first === undefined ? null : <Told delivery={first} />}
        {others.length === 0 ? null : (
          <details className="deliveries-more">
            <summary>
              {others.length === 1 ? "One more chat" : `${others.length} more chats`}
            </summary>
            <div className="deliveries">
              {others.map((delivery) => (
                <Told key={delivery.chat_id} delivery={delivery} />
              ))}
            </div>
          </details>
        )}
      </div>
    </section>
  );
}

function Told({ delivery }: { readonly delivery: Delivery }) {
  const { chat_id: chatId, status, text, at } = delivery;
  return (
    <article className="card">
      <header className="told-head">
        <h3>
          <ChatLink chatId={chatId} />
        </h3>
        <span className={status === "delivered" ? "tag tag-accent" : "tag"}>
          {status === "delivered" ? "Delivered" : "Waits for the next message"}
        </span>
        {at === null ? null : <When className="hint" at={at} />}
        <Copy text={text} />
      </header>
      <p className="hint">{toldInWords(delivery)}</p>
      {text === "" ? (
        <p>Nothing.</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, by keyboard too
        <section className="told-text" aria-label={`Text for ${chatId}`} tabIndex={0}>
          <pre>{text}</pre>
        </section>
      )}
    </article>
  );
}

/** In which case it was, and what it was told of. */
function toldInWords({ kind, status, parts }: Delivery): string {
  const of = parts.map((part) => partWords[part]).join(", and ");
  if (kind === "fresh_start") return `New chat: ${of === "" ? "nothing from before" : of}.`;
  const when = status === "delivered" ? "When it was told: " : "";
  return `${when}${kindWords[kind].title}${of === "" ? "" : `, with ${of}`}.`;
}

function Copy({ text }: { readonly text: string }) {
  const [said, setSaid] = useState("Copy");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setSaid("Copied");
    } catch {
      setSaid("Could not copy"); // no permission, or no secure origin: it can still be selected
    }
    setTimeout(() => setSaid("Copy"), 2000);
  };
  return (
    <Button kind="quiet" className="told-copy" disabled={text === ""} onClick={() => void copy()}>
      <span aria-live="polite">{said}</span>
    </Button>
  );
}
