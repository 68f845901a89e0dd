import type { RefCallback } from "react";
import { detailOf } from "../api/client.ts";
import { Button } from "../ui/button.tsx";
import type { Feed } from "./feed.ts";
import type { FeedState } from "./feed-state.ts";

interface FootNoteProps {
  readonly feed: Feed;
  readonly trouble: FeedState["trouble"];
  /** How many messages have no answer, where that can be changed now. */
  readonly unanswered: number;
  readonly leaving: RefCallback<HTMLElement>;
}

/** What went wrong last, and what a crash or a failed model left without an answer: one box for both. */
export function FootNote({ feed, trouble, unanswered, leaving }: FootNoteProps) {
  if (trouble === undefined && unanswered === 0) return null;
  const isOffer = unanswered > 0;
  return (
    <section
      className={trouble === undefined ? "offer" : "offer is-trouble"}
      aria-label={isOffer ? "Unanswered messages" : "What went wrong"}
    >
      <p>
        {trouble === undefined ? null : (
          <span role="alert">{sentence(detailOf(trouble.error))} </span>
        )}
        {isOffer ? missing(unanswered, trouble === undefined ? "A" : "Your") : null}
      </p>
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
        {isOne ? "Leave it" : "Leave them"}
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
      <Button ref={leaving} kind="quiet" onClick={() => feed.calm()}>
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

/** What a provider says is not always one. */
function sentence(words: string): string {
  const [first = "", ...rest] = words.trim();
  const text = first.toUpperCase() + rest.join("");
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}
