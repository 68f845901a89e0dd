import type { Clock } from "../../core/clock.ts";
import type { MomentInput } from "./label.ts";
import { cutText } from "./messages.ts";
import type { Receipt } from "./receipt.ts";

/** What a rule may take for a reaction. */
export type AutoEvent =
  /** A head was scratched for long (`pat_level2`). */
  | { readonly kind: "pat" }
  /** Words that hurt; `matched` are those that did, `messageId` the message that has them. */
  | {
      readonly kind: "words";
      readonly matched: readonly string[];
      readonly messageId?: string;
      /** @default "speech" */
      readonly channel?: "speech" | "text";
    };

const cooldownMs = 30_000;
/** A `what` has at most so many characters. */
const maxWhat = 2_000;

/**
 * Records by rule, without a model: a pat is positive, words that hurt are negative, one of either in
 * 30 s. Source: the original's planned `auto_record`.
 *
 * @returns what takes an event and what the model said last, which was liked or not. It answers `undefined`
 *   within the cooldown, or when nothing was said yet.
 */
export function autoRecord(record: (input: MomentInput) => Receipt, clock: Clock) {
  let lastMs = Number.NEGATIVE_INFINITY;
  return (event: AutoEvent, lastAnswer: string, chatId?: string): Receipt | undefined => {
    const nowMs = clock.monotonic();
    const what = cutText(lastAnswer.trim(), maxWhat);
    if (what === "" || nowMs - lastMs < cooldownMs) return undefined;
    const reacted = event.kind === "pat" ? patted : hurt(event);
    const receipt = record({ ...reacted, chatId, what, source: "auto" });
    // What was refused, since too much waits, is no reason to miss the next one.
    if (receipt.accepted) lastMs = nowMs;
    return receipt;
  };
}

const patted = { sentiment: "positive", trigger: "pat_level2", channel: "touch" } as const;

function hurt({ kind: trigger, channel = "speech", ...words }: AutoEvent & { kind: "words" }) {
  return { ...words, sentiment: "negative", trigger, channel } as const;
}
