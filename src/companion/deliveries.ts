import { isJsonObject, type JsonObject } from "../core/json.ts";
import { Lru } from "../core/lru.ts";
import { readReading, storedReading } from "./boot-clock.ts";
import { type Certainty, validGap } from "./gap.ts";
import type { JudgedRestart, RestartKind } from "./restart.ts";
import { countOr } from "./run-records.ts";

export const deliveryLimits = { chats: 1_000, keyBytes: 64 * 1024, restarts: 32, inRun: 100_000 };

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
   * Reads what `toJson` made, and adds the restart that led to this run: its report, for one. What
   * cannot be used is left out.
   *
   * @param missed the restart before it, if the run that it led to did not live to store it.
   */
  static begin(stored: unknown, restart: JudgedRestart, missed?: JudgedRestart): Deliveries {
    const { restarts, told } = isJsonObject(stored) ? stored : {};
    const known = [...(Array.isArray(restarts) ? restarts : []).flatMap(readRestart), missed ?? []]
      .flat()
      .filter(({ totalRuns }) => totalRuns < restart.totalRuns)
      .sort((a, b) => a.totalRuns - b.totalRuns);
    const chats = Object.entries(isJsonObject(told) ? told : {}).flatMap(([chat, value]) => {
      const run = countOr(value, restart.totalRuns);
      return run < restart.totalRuns ? [[chat, run] as const] : [];
    });
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
  toJson(): JsonObject {
    const told: [string, number][] = [];
    let bytes = 0;
    for (const [chatId, run] of [...this.#acknowledged].slice(-deliveryLimits.chats).toReversed()) {
      bytes += Buffer.byteLength(chatId);
      if (bytes > deliveryLimits.keyBytes) break;
      told.unshift([chatId, run]);
    }
    return { restarts: this.#restarts.map(storedRestart), told: Object.fromEntries(told) };
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
function joined(first: JudgedRestart, second: JudgedRestart): JudgedRestart {
  const { kind, totalRuns } = second;
  return { ...first, kind, totalRuns, clean: first.clean && second.clean };
}

function storedRestart(restart: JudgedRestart): JsonObject {
  const { kind, clean, totalRuns, gapMs, certainty, before, judgedAt } = restart;
  return {
    kind,
    clean,
    total_sessions: totalRuns,
    certainty,
    gap_ms: gapMs,
    before: before && storedReading(before),
    judged: storedReading(judgedAt),
  };
}

/** Whether every part of what was stored can be used. */
export function isWholeDeliveries(stored: unknown): boolean {
  const { restarts, told } = isJsonObject(stored) ? stored : {};
  if (!Array.isArray(restarts) || !isJsonObject(told)) return false;
  const isWhole = (restart: unknown) =>
    (isJsonObject(restart) && restart["kind"] === "fresh_start") ||
    JSON.stringify(readRestart(restart).map(storedRestart)) === JSON.stringify([restart]);
  const isCount = (value: unknown) => countOr(value, undefined) !== undefined;
  return restarts.every(isWhole) && Object.values(told).every(isCount);
}

const kinds: readonly RestartKind[] = ["crash_recovery", "short_break", "long_absence"];
const certainties: readonly Certainty[] = ["certain", "clock", "uncertain"];

function readRestart(stored: unknown): readonly JudgedRestart[] {
  if (!isJsonObject(stored)) return [];
  const { gap_ms: gap } = stored;
  const kind = kinds.find((each) => each === stored["kind"]);
  const certainty = certainties.find((each) => each === stored["certainty"]) ?? "uncertain";
  const totalRuns = countOr(stored["total_sessions"], 0);
  const judgedAt = readReading(stored["judged"]);
  if (kind === undefined || totalRuns === 0 || judgedAt === undefined) return [];
  const { gapMs } = validGap({ gapMs: typeof gap === "number" ? gap : undefined, certainty });
  const before = readReading(stored["before"]);
  const clean = stored["clean"] === true;
  return [{ kind, clean, totalRuns, gapMs, certainty, before, judgedAt }];
}
