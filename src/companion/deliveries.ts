import { Lru } from "../core/lru.ts";
import { flag, list, number, object, optional, record, whole, word } from "../core/shape.ts";
import { clockReading } from "./boot-clock.ts";
import { certainties, longestGapMs } from "./gap.ts";
import { type JudgedRestart, restartKinds } from "./restart.ts";

export const deliveryLimits = { chats: 1_000, keyBytes: 64 * 1024, restarts: 32, inRun: 100_000 };

const run = whole(0, Number.MAX_SAFE_INTEGER);

export const restart = object<JudgedRestart>(
  {
    kind: word(restartKinds),
    clean: flag(),
    totalRuns: ["total_sessions", run],
    certainty: word(certainties),
    gapMs: ["gap_ms", optional(number(0, longestGapMs))],
    before: optional(clockReading),
    judgedAt: ["judged", clockReading],
  },
  "left out",
);

/** What the document keeps of deliveries. */
export interface StoredDeliveries {
  readonly restarts: readonly JudgedRestart[];
  /** By chat, the newest run that it acknowledged. */
  readonly told: Readonly<Record<string, number>>;
}

export const storedDeliveries = object<StoredDeliveries>(
  { restarts: list(restart), told: record(run) },
  "left out",
);

/**
 * Which chats acknowledged which restarts. A restart stays pending in a chat until the chat
 * acknowledges it, over any number of further restarts: these are then reported
 * as one, which began with the first and was clean if all were.
 *
 * No text is stored here: each attempt makes its own from what is true then. A chat that is
 * not known, because it is new or one of too many, gets a notice of the newest restart alone.
 */
export class Deliveries {
  /** Oldest first; the last is of the current run. */
  readonly #restarts: readonly JudgedRestart[];
  /** The newest run that each chat acknowledged; no look-up renews one. */
  readonly #acknowledged = new Lru<string, number>(deliveryLimits.inRun);
  readonly #attempts = new Set<string>();

  private constructor(
    restarts: readonly JudgedRestart[],
    acknowledged: readonly (readonly [string, number])[],
  ) {
    this.#restarts = restarts;
    for (const [chatId, run] of acknowledged) this.#acknowledged.set(chatId, run);
  }

  /**
   * Goes on from what was stored, and adds the restart that led to this run: its report, for one.
   *
   * @param missed the restart before it, if the run that it led to did not live to store it.
   */
  static begin(
    stored: StoredDeliveries | undefined,
    restart: JudgedRestart,
    missed?: JudgedRestart,
  ): Deliveries {
    const { restarts = [], told = {} } = stored ?? {};
    const known = [...restarts, missed ?? []]
      .flat()
      .filter(({ kind, totalRuns }) => kind !== "fresh_start" && totalRuns < restart.totalRuns)
      .sort((a, b) => a.totalRuns - b.totalRuns);
    const chats = Object.entries(told).filter(([, run]) => run < restart.totalRuns);
    const oldestFirst = chats.sort(([, a], [, b]) => a - b).slice(-deliveryLimits.chats);
    // Where no chat is known here, their own logs may say what they acknowledged.
    const [, least = 0] = oldestFirst[0] ?? [];
    const pending = known.filter(({ totalRuns }) => totalRuns > least);
    return new Deliveries(bounded([...pending, restart]), oldestFirst);
  }

  /**
   * Begins a delivery to a chat. `undefined`: it has acknowledged, or an attempt is under way. End every
   * attempt with `acknowledge` or `fail`; one that the process did not survive was none.
   */
  take(chatId: string): JudgedRestart | undefined {
    const pending = this.#attempts.has(chatId) ? undefined : this.pending(chatId);
    if (pending !== undefined) this.#attempts.add(chatId);
    return pending;
  }

  /** The chat got the notice. @returns whether this changed what is to be stored. */
  acknowledge(chatId: string): boolean {
    this.#attempts.delete(chatId);
    const newest = this.#restarts.at(-1)?.totalRuns;
    if (newest === undefined || this.#acknowledged.peek(chatId) === newest) return false;
    this.#acknowledged.set(chatId, newest);
    return true;
  }

  /** A chat's own log says that it acknowledged this run, and with it those before. */
  noteAcknowledged(chatId: string, run: number): void {
    if (run <= (this.#acknowledged.peek(chatId) ?? 0)) return;
    this.#acknowledged.set(chatId, run);
  }

  /** The attempt failed: the notice is still pending. */
  fail(chatId: string): void {
    this.#attempts.delete(chatId);
  }

  /** What a chat has not acknowledged, without beginning an attempt. */
  pending(chatId: string): JudgedRestart | undefined {
    const acknowledged = this.#acknowledged.peek(chatId);
    const newest = this.#restarts.slice(-1);
    const later = this.#restarts.filter(({ totalRuns }) => totalRuns > (acknowledged ?? 0));
    const [first, ...others] = acknowledged === undefined ? newest : later;
    return first && others.reduce(joined, first);
  }

  /** The chats of which something is known. */
  get chats(): readonly string[] {
    return [...this.#acknowledged.keys(), ...this.#attempts];
  }

  /** Forgets a chat. @returns whether anything was known of it. */
  forget(chatId: string): boolean {
    this.#attempts.delete(chatId);
    return this.#acknowledged.delete(chatId);
  }

  /** What the document keeps: at most 1,000 chats, the last to acknowledge, and 64 KiB of their ids. */
  get stored(): StoredDeliveries {
    const told: [string, number][] = [];
    let bytes = 0;
    for (const [chatId, run] of [...this.#acknowledged].slice(-deliveryLimits.chats).toReversed()) {
      bytes += Buffer.byteLength(chatId);
      if (bytes > deliveryLimits.keyBytes) break;
      told.unshift([chatId, run]);
    }
    return { restarts: this.#restarts, told: Object.fromEntries(told) };
  }
}

/** The oldest are joined when there are too many. A chat that acknowledged the first of them alone gets all. */
function bounded(restarts: readonly JudgedRestart[]): readonly JudgedRestart[] {
  const excess = restarts.length - deliveryLimits.restarts;
  const [first, ...others] = restarts;
  if (excess <= 0 || first === undefined) return restarts;
  return [others.slice(0, excess).reduce(joined, first), ...others.slice(excess)];
}

/** Two restarts as one. The gap is that of the first: the chat does not know that it ended. */
export function joined(first: JudgedRestart, second: JudgedRestart): JudgedRestart {
  const { kind, totalRuns } = second;
  return { ...first, kind, totalRuns, clean: first.clean && second.clean };
}
