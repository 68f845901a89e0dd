import type { Interaction } from "./interaction.ts";

/** Counts only, never texts: fit for logs, metrics and `GET /api/memory`. */
export interface WorkingMemoryStats {
  readonly capacity: number;
  readonly count: number;
  readonly full: boolean;
  readonly empty: boolean;
  /** Since the memory was made, by the monotonic clock: 2 decimals, never below 0. */
  readonly session_age_seconds: number;
  /** UTF-8 bytes of the texts held. */
  readonly bytes: number;
  /** The number of the newest turn ever appended; 0 before the first. */
  readonly last_turn: number;
}

/** What may be read of a working memory. Everything handed out is frozen. */
export interface WorkingMemoryView {
  readonly count: number;
  readonly isEmpty: boolean;
  readonly isFull: boolean;
  /**
   * What the person said in the last `n` turns, newest first; of all turns held when absent.
   *
   * @throws ThroughlineError `THROUGHLINE_INVALID`: `n` is not a whole number.
   */
  recentUtterances(n?: number): readonly string[];
  /** As `recentUtterances`, in upper case: `GREETING`. */
  recentIntents(n?: number): readonly string[];
  /** As `recentUtterances`; "" where nothing was answered. */
  recentResponses(n?: number): readonly string[];
  /** Oldest first. */
  all(): readonly Interaction[];
  /**
   * See `summarise`: one line of at most 2,000 code points, "" when empty.
   *
   * @param exceptId the id of a turn to leave out: a model that regenerates an answer does not see the old one.
   */
  summary(exceptId?: string): string;
  /** What goes before a prompt: a line `Context:`, the summary, a blank line. "" when empty. */
  promptBlock(): string;
  stats(): WorkingMemoryStats;
}

/** A live view that offers reading only, also to code that does not look at types. */
export function readOnly(memory: WorkingMemoryView): WorkingMemoryView {
  return Object.freeze({
    get count() {
      return memory.count;
    },
    get isEmpty() {
      return memory.isEmpty;
    },
    get isFull() {
      return memory.isFull;
    },
    recentUtterances: (n?: number) => memory.recentUtterances(n),
    recentIntents: (n?: number) => memory.recentIntents(n),
    recentResponses: (n?: number) => memory.recentResponses(n),
    all: () => memory.all(),
    summary: (exceptId?: string) => memory.summary(exceptId),
    promptBlock: () => memory.promptBlock(),
    stats: () => memory.stats(),
  });
}
