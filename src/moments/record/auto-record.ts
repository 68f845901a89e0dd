import type { Clock } from "../../core/clock.ts";
import { aFunction, checkArgument, having } from "../../core/options.ts";
import type { MomentInput } from "./label.ts";
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
 * 30 s. Off unless somebody makes one of these. Source: the original's planned `auto_record`.
 */
export class AutoRecord {
  readonly #record: (input: MomentInput) => Receipt;
  readonly #clock: Clock;
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor(record: (input: MomentInput) => Receipt, clock: Clock) {
    checkArgument(record, "record", aFunction);
    checkArgument(clock, "clock", having("a clock", "monotonic"));
    this.#record = record;
    this.#clock = clock;
  }

  /**
   * @param lastAnswer what the model said last: it is what was liked or not.
   * @returns `undefined` within the cooldown, or when nothing was said yet.
   */
  react(event: AutoEvent, lastAnswer: string, chatId?: string): Receipt | undefined {
    const nowMs = this.#clock.monotonic();
    const what = [...lastAnswer.trim()].slice(0, maxWhat).join("");
    if (what === "" || nowMs - this.#lastMs < cooldownMs) return undefined;
    const receipt = this.#record(this.#inputOf(event, what, chatId));
    // What was refused, since too much waits, is no reason to miss the next one.
    if (receipt.accepted) this.#lastMs = nowMs;
    return receipt;
  }

  #inputOf(event: AutoEvent, what: string, chatId: string | undefined): MomentInput {
    if (event.kind === "pat") {
      const pat = { sentiment: "positive", trigger: "pat_level2", channel: "touch" } as const;
      return { ...pat, chatId, what, source: "auto" };
    }
    const { matched, messageId, channel = "speech" } = event;
    const words = { sentiment: "negative", trigger: "words", channel } as const;
    return { ...words, chatId, messageId, what, matched, source: "auto" };
  }
}
