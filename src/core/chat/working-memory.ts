import { type Clock, isoTime, systemClock } from "../clock.ts";
import { invalid } from "../errors.ts";
import { type Checks, type Defaults, resolveOptions, whole } from "../options.ts";
import {
  bytesOf,
  checkInteraction,
  fitInteraction,
  type Interaction,
  type NewInteraction,
} from "./interaction.ts";
import { summarise } from "./summary.ts";
import {
  readOnly,
  type WorkingMemoryStats,
  type WorkingMemoryView,
} from "./working-memory-view.ts";

export interface WorkingMemoryOptions {
  /**
   * How many interactions are kept, 1 to 1,000. One more drops the oldest.
   *
   * Source: the seed keeps three.
   * @default 3
   */
  readonly capacity?: number | undefined;
  /**
   * How many bytes of UTF-8 the texts may take together, 1,024 to 1,048,576. Past it the oldest
   * interactions are removed; one that is too large alone is cut, its response first.
   * @default 32_768
   */
  readonly maxBytes?: number | undefined;
  /** Tells the time of an interaction and the age of the period. */
  readonly clock?: Clock | undefined;
}

export const workingMemoryDefaults = {
  capacity: 3,
  maxBytes: 32_768,
  clock: systemClock,
} as const satisfies Defaults<WorkingMemoryOptions>;

export const workingMemoryChecks = {
  capacity: whole(1, 1_000),
  maxBytes: whole(1_024, 1_048_576),
} as const satisfies Checks<WorkingMemoryOptions>;

/**
 * What was just said: the last interactions of one period, in RAM only. Not a transcript, not
 * searched, never learned from, never written anywhere; gone with the process.
 */
export class WorkingMemory implements WorkingMemoryView {
  readonly #capacity: number;
  readonly #maxBytes: number;
  readonly #clock: Clock;
  readonly #startedMs: number;
  readonly #view: WorkingMemoryView;
  /** Oldest first. */
  readonly #interactions: Interaction[] = [];
  /** What they are about, where `append` was told: not a part of what is remembered. */
  readonly #ids = new WeakMap<Interaction, string>();
  #bytes = 0;
  #lastTurn = 0;

  /** @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: an option cannot be used. */
  constructor(options: WorkingMemoryOptions = {}) {
    const { capacity, maxBytes, clock } = resolveOptions(
      "the options of a working memory",
      options,
      workingMemoryDefaults,
      workingMemoryChecks,
    );
    this.#capacity = capacity;
    this.#maxBytes = maxBytes;
    this.#clock = clock;
    this.#startedMs = clock.monotonic();
    this.#view = readOnly(this);
  }

  /**
   * Remembers a turn: once, when it ended in any way. Drops the oldest beyond the capacity or the
   * byte budget.
   *
   * @param id names what was said: what was remembered under it is removed, as this replaces it.
   * @returns what is remembered, frozen; its texts are shorter than given if they were too large.
   * @throws ThroughlineError `THROUGHLINE_INVALID`: a field is not what `NewInteraction` says;
   * nothing was remembered and no turn number was used.
   */
  append(interaction: NewInteraction, id?: string): Interaction {
    const fitting = fitInteraction(checkInteraction(interaction), this.#maxBytes);
    const before = this.#interactions.findIndex((each) => this.#isAbout(each, id));
    if (before >= 0) this.#drop(before);
    const timestamp = isoTime(this.#clock.now());
    const kept = Object.freeze({ turn: this.#lastTurn + 1, timestamp, ...fitting });
    this.#lastTurn = kept.turn;
    if (id !== undefined) this.#ids.set(kept, id);
    this.#interactions.push(kept);
    this.#bytes += bytesOf(kept);
    this.#shrink();
    return kept;
  }

  /**
   * Replaces how what was said was answered, at its place and under its number. Nothing happens if it is not
   * remembered.
   *
   * @param id as it was given to `append`.
   */
  replace(id: string, answer: Pick<NewInteraction, "response" | "outcome">): void {
    const at = this.#interactions.findIndex((each) => this.#isAbout(each, id));
    const before = this.#interactions[at];
    if (before === undefined) return;
    const kept = Object.freeze({
      ...before,
      ...fitInteraction({ ...before, ...answer }, this.#maxBytes),
    });
    this.#ids.set(kept, id);
    this.#interactions[at] = kept;
    this.#bytes += bytesOf(kept) - bytesOf(before);
    this.#shrink();
  }

  /** Drops the oldest until the rest is within the bounds. */
  #shrink(): void {
    while (this.#interactions.length > this.#capacity || this.#bytes > this.#maxBytes) {
      this.#drop(0);
    }
  }

  #drop(index: number): void {
    for (const removed of this.#interactions.splice(index, 1)) this.#bytes -= bytesOf(removed);
  }

  #isAbout(interaction: Interaction, id: string | undefined): boolean {
    return id !== undefined && this.#ids.get(interaction) === id;
  }

  get count(): number {
    return this.#interactions.length;
  }

  get isEmpty(): boolean {
    return this.count === 0;
  }

  get isFull(): boolean {
    return this.count === this.#capacity;
  }

  recentUtterances(n?: number): readonly string[] {
    return this.#recent(n, ({ utterance }) => utterance);
  }

  recentIntents(n?: number): readonly string[] {
    return this.#recent(n, ({ intent }) => intent);
  }

  recentResponses(n?: number): readonly string[] {
    return this.#recent(n, ({ response }) => response);
  }

  #recent(n: number | undefined, field: (interaction: Interaction) => string): readonly string[] {
    return Object.freeze(lastN(this.#interactions, n).reverse().map(field));
  }

  all(): readonly Interaction[] {
    return Object.freeze(this.#interactions.slice());
  }

  summary(exceptId?: string): string {
    return summarise(this.#interactions.filter((each) => !this.#isAbout(each, exceptId)));
  }

  promptBlock(): string {
    return this.isEmpty ? "" : `Context:\n${this.summary()}\n\n`;
  }

  stats(): WorkingMemoryStats {
    const ageMs = Math.max(0, this.#clock.monotonic() - this.#startedMs);
    return {
      capacity: this.#capacity,
      count: this.count,
      full: this.isFull,
      empty: this.isEmpty,
      session_age_seconds: Math.round(ageMs / 10) / 100,
      bytes: this.#bytes,
      last_turn: this.#lastTurn,
    };
  }

  /** For what only reads, such as a responder: follows this memory, cannot append or clear. */
  view(): WorkingMemoryView {
    return this.#view;
  }

  /** Forgets the interactions. The age and the turn numbers go on. */
  clear(): void {
    this.#interactions.length = 0;
    this.#bytes = 0;
  }
}

/**
 * The last `n` items, in the order of the list: the one rule of every call that takes such an `n`.
 * Absent is all; 0 or less is nothing; more than there are is all.
 *
 * @returns a list of the caller's own.
 * @throws ThroughlineError `THROUGHLINE_INVALID`: `n` is not a whole number.
 */
export function lastN<T>(items: readonly T[], n?: number): T[] {
  if (n === undefined) return items.slice();
  if (!Number.isInteger(n)) throw invalid("n must be a whole number");
  // Not slice(-n) alone: slice(-0) is everything.
  return n <= 0 ? [] : items.slice(-n);
}
