import type { RefCallback } from "react";
import { detailOf, providerWordsOf } from "../../api/client.ts";
import { Button } from "../../ui/button.tsx";
import { ProviderWords } from "../../ui/error-note.tsx";
import { sentence } from "../../ui/plain-words.ts";
import type { Feed } from "./feed.ts";
import type { FeedState } from "./feed-state.ts";

interface FootNoteProps {
  readonly feed: Feed;
  readonly trouble: FeedState["trouble"];
  readonly notices: FeedState["notices"];
  /** How many messages have no answer, where that can be changed now. */
  readonly unanswered: number;
  readonly leaving: RefCallback<HTMLElement>;
}

/**
 * What the chat does not store: the last error, notices, and the offer to answer messages that a crash
 * or a failed model left without an answer. One box for all.
 */
export function FootNote({ feed, trouble, notices, unanswered, leaving }: FootNoteProps) {
  const isOffer = unanswered > 0;
  if (trouble === undefined && notices.length === 0 && !isOffer) return null;
  const label = isOffer ? "Unanswered messages" : trouble ? "Error" : "Notices";
  return (
    <section className={trouble === undefined ? "offer" : "offer is-trouble"} aria-label={label}>
      <div className="offer-words">
        {notices.map((notice) => (
          <p key={notice} role="status">
            {notice}
          </p>
        ))}
        {trouble === undefined ? null : <p role="alert">{sentence(detailOf(trouble.error))}</p>}
        {isOffer ? <p>{missing(unanswered, trouble === undefined ? "A" : "Your")}</p> : null}
        <ProviderWords words={providerWordsOf(trouble?.error)} />
      </div>
      <div>
        {isOffer ? (
          <Offer feed={feed} count={unanswered} leaving={leaving} />
        ) : (
          <Trouble feed={feed} retry={trouble?.retry} leaving={leaving} />
        )}
      </div>
    </section>
  );
}

function Offer({ feed, count, leaving }: Pick<FootNoteProps, "feed" | "leaving"> & Counted) {
  const isOne = count === 1;
  return (
    <>
      <Button ref={leaving} kind="quiet" onClick={() => void feed.dismiss()}>
        Dismiss
      </Button>
      <Button ref={leaving} onClick={() => void feed.answer()}>
        Answer {isOne ? "it" : "the first"}
      </Button>
    </>
  );
}

interface Counted {
  readonly count: number;
}

function Trouble({ feed, retry, leaving }: Pick<FootNoteProps, "feed" | "leaving"> & Retried) {
  return (
    <>
      {retry === undefined ? null : (
        <Button ref={leaving} kind="quiet" onClick={retry}>
          Try again
        </Button>
      )}
      <Button ref={leaving} kind="quiet" onClick={() => feed.clearTrouble()}>
        Close
      </Button>
    </>
  );
}

interface Retried {
  readonly retry: (() => void) | undefined;
}

function missing(count: number, which: "A" | "Your"): string {
  return count === 1
    ? `${which} message has no answer yet.`
    : `${count} messages have no answer yet.`;
}
