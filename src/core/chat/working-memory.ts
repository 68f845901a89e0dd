import { type Clock, isoTime, systemClock } from "../clock.ts";
import { invalid } from "../errors.ts";
import { type Checks, type Defaults, resolveOptions, whole } from "../options.ts";
import {
  checkInteraction,
  fitInteraction,
  type Interaction,
  type NewInteraction,
  type Outcome,
} from "./interaction.ts";
import { summarise } from "./summary.ts";

export interface WorkingMemoryOptions {
  /**
   * How many interactions are kept, 1 to 1,000. One more drops the oldest.
   *
   * Source: the seed keeps three.
   * @default 3
   */
  readonly capacity?: number | undefined;
  /** Tells the time of an interaction and the age of the period. */
  readonly clock?: Clock | undefined;
}

export const workingMemoryDefaults = {
  capacity: 3,
  clock: systemClock,
} as const satisfies Defaults<WorkingMemoryOptions>;

export const workingMemoryChecks = {
  capacity: whole(1, 1_000),
} as const satisfies Checks<WorkingMemoryOptions>;

/** Counts only, never texts: fit for logs, metrics and `GET /api/memory`. */
export interface WorkingMemoryStats {
  readonly capacity: number;
  readonly count: number;
  readonly full: boolean;
  readonly empty: boolean;
  /** Since the memory was made, by the monotonic clock: 2 decimals, never below 0. */
  readonly session_age_seconds: number;
  /** The number of the newest turn ever appended; 0 before the first. */
  readonly last_turn: number;
}

/** A working memory to read: what a responder gets. */
export type ReadOnlyMemory = Omit<
  WorkingMemory,
  "append" | "keep" | "answered" | "replace" | "clear"
>;

/**
 * What was just said: the last interactions of one period, in RAM only. Not a transcript, not
 * searched, never learned from, never written anywhere; gone with the process. Everything handed out
 * is frozen.
 */
export class WorkingMemory {
  readonly #capacity: number;
  readonly #clock: Clock;
  readonly #startedMs: number;
  /** Oldest first. */
  readonly #interactions: Interaction[] = [];
  /** What they are about, where `append` was told: not a part of what is remembered. */
  readonly #ids = new WeakMap<Interaction, string>();
  #lastTurn = 0;

  /** @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: an option cannot be used. */
  constructor(options: WorkingMemoryOptions = {}) {
    const { capacity, clock } = resolveOptions(
      "the options of a working memory",
      options,
      workingMemoryDefaults,
      workingMemoryChecks,
    );
    this.#capacity = capacity;
    this.#clock = clock;
    this.#startedMs = clock.monotonic();
  }

  /**
   * Remembers a turn: once, when it ended in any way. Removes the oldest beyond the capacity.
   *
   * @param id names what was said: what was remembered under it is removed, as this replaces it.
   * @returns what is remembered, frozen; a text of more than 8 KiB is cut to that.
   * @throws ThroughlineError `THROUGHLINE_INVALID`: a field is not what `NewInteraction` says;
   * nothing was remembered and no turn number was used.
   */
  append(interaction: NewInteraction, id?: string): Interaction {
    checkInteraction(interaction);
    return this.keep(interaction, id);
  }

  /** Remembers what this package made, which needs no check. */
  keep(interaction: NewInteraction, id?: string): Interaction {
    const before = this.#interactions.findIndex((each) => this.#isAbout(each, id));
    if (before >= 0) this.#interactions.splice(before, 1);
    const timestamp = isoTime(this.#clock.now());
    const fitted = fitInteraction(interaction);
    const kept = Object.freeze({ turn: this.#lastTurn + 1, timestamp, ...fitted });
    this.#lastTurn = kept.turn;
    if (id !== undefined) this.#ids.set(kept, id);
    this.#interactions.push(kept);
    if (this.#interactions.length > this.#capacity) this.#interactions.shift();
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
    const replaced = { ...before, ...answer };
    checkInteraction(replaced);
    const kept = Object.freeze({ ...before, ...fitInteraction(replaced) });
    this.#ids.set(kept, id);
    this.#interactions[at] = kept;
  }

  /** Adds words to the answer to what was said last, if `append` was given an id with that. */
  answered(words: string, outcome: Outcome): void {
    const last = this.#interactions.at(-1);
    const id = last && this.#ids.get(last);
    if (last === undefined || id === undefined) return;
    const response = last.response === "" ? words : `${last.response}\n\n${words}`;
    this.replace(id, { response, outcome });
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

  /**
   * Lists what the person said in the last `n` turns, newest first; in all turns held when absent.
   *
   * @throws ThroughlineError `THROUGHLINE_INVALID`: `n` is not a whole number.
   */
  recentUtterances(n?: number): readonly string[] {
    return this.#recent(n, ({ utterance }) => utterance);
  }

  /** Lists as `recentUtterances` does, in upper case: `GREETING`. */
  recentIntents(n?: number): readonly string[] {
    return this.#recent(n, ({ intent }) => intent);
  }

  /** Lists as `recentUtterances` does; "" where nothing was answered. */
  recentResponses(n?: number): readonly string[] {
    return this.#recent(n, ({ response }) => response);
  }

  #recent(n: number | undefined, field: (interaction: Interaction) => string): readonly string[] {
    return Object.freeze(lastN(this.#interactions, n).reverse().map(field));
  }

  /** Lists everything, oldest first. */
  all(): readonly Interaction[] {
    return Object.freeze(this.#interactions.slice());
  }

  /**
   * Sums up: one line of at most 2,000 code points, "" when empty. See `summarise`.
   *
   * @param exceptId the id of a turn to leave out: a model that regenerates an answer does not see the old one.
   */
  summary(exceptId?: string): string {
    return summarise(this.#interactions.filter((each) => !this.#isAbout(each, exceptId)));
  }

  /** Makes what goes before a prompt: a line `Context:`, the summary, a blank line. "" when empty. */
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
      last_turn: this.#lastTurn,
    };
  }

  /** Forgets the interactions. The age and the turn numbers go on. */
  clear(): void {
    this.#interactions.length = 0;
  }
}

/**
 * The last `n` items, in the order of the list: the one rule of every call that takes such an `n`.
 * Absent is all; 0 or less is nothing; more than there are is all.
 *
 * @returns a list of the caller's own.
 * @throws ThroughlineError `THROUGHLINE_INVALID`: `n` is not a whole number.
 */
function lastN<T>(items: readonly T[], n?: number): T[] {
  if (n === undefined) return items.slice();
  if (!Number.isInteger(n)) throw invalid("n must be a whole number");
  // Not slice(-n) alone: slice(-0) is everything.
  return n <= 0 ? [] : items.slice(-n);
}
