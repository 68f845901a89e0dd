import { isoTime } from "../../clock.ts";
import type { NewId } from "../../ids.ts";
import { isJsonObject, type JsonObject } from "../../json.ts";
import type { LogStore, StoredRecord } from "../../storage/log-store.ts";
import { type EmotionConfiguration, emotionLimits } from "./emotion/configuration.ts";
import type { EmotionState } from "./emotion/emotion.ts";
import { restoreEmotions } from "./emotion/restore-emotions.ts";
import type { Felt } from "./live-emotions.ts";

/** What happened within this long of each other is one record: the state after it, and its events. */
const recordMs = 10_000;
/** Of one record. More of the same few seconds are in the state, and not in the list. */
const maxEvents = 50;
/** Records that wait to be stored. The oldest go first: a disk that fails does not fill the memory. */
const maxWaiting = 1_000;

export interface MoodEvent {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly event: string;
  readonly intensity: number;
  readonly wound?: string;
}

/** One record as it was read: from then on the state runs by itself. */
export interface MoodRecord {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly kind: "up" | "felt" | "down";
  readonly state: EmotionState;
  readonly events: readonly MoodEvent[];
  /** On `up`: when the run before was last known to live. */
  readonly downAt?: number;
}

interface Waiting {
  readonly felt: Felt;
  readonly kind: MoodRecord["kind"];
  readonly events: readonly JsonObject[];
  readonly downAt?: number | undefined;
}

/**
 * How the companion felt, over its lifetime. A feeling runs by itself from one event to the next, so
 * that the states right after events are all that has to be kept: every curve follows from them.
 */
export class MoodHistory {
  readonly #logs: LogStore;
  readonly #newId: NewId;
  #waiting: Waiting[] = [];
  #flushing: Promise<void> = Promise.resolve();

  constructor(ports: { readonly logs: LogStore; readonly newId: NewId }) {
    this.#logs = ports.logs;
    this.#newId = ports.newId;
  }

  /** Takes note; stored by the next `flush`. */
  note(felt: Felt, kind: MoodRecord["kind"] = "felt", downAt?: number): void {
    const last = this.#waiting.at(-1);
    const { at, event } = felt;
    const added = event === undefined ? [] : [{ at, ...event }];
    const isClose = last && Date.parse(at) - Date.parse(last.felt.at) < recordMs;
    if (kind === "felt" && isClose && last.kind === "felt") {
      const events = [...last.events, ...added].slice(-maxEvents);
      this.#waiting[this.#waiting.length - 1] = { ...last, felt, events };
      return;
    }
    this.#waiting.push({ felt, kind, events: added, downAt });
    if (this.#waiting.length > maxWaiting) this.#waiting.shift();
  }

  /**
   * Stores what was noted. Resolves once it is stored; what could not be waits for the next call.
   *
   * @throws ThroughlineError the codes of `LogStore.append`.
   */
  flush(): Promise<void> {
    // One at a time: two would store the same twice.
    const result = this.#flushing.then(() => this.#flush());
    this.#flushing = result.catch(() => undefined); // whoever called hears of it
    return result;
  }

  async #flush(): Promise<void> {
    const batch = this.#waiting.slice(0, 500);
    if (batch.length === 0) return;
    const records = batch.map(({ felt, kind, events, downAt }) => ({
      ...{ id: this.#newId(), kind, at: felt.at, state: felt.state as unknown as JsonObject },
      ...(events.length === 0 ? {} : { events }),
      ...(downAt === undefined ? {} : { down_at: isoTime(downAt) }),
    }));
    await this.#logs.append("moods", records);
    this.#waiting = this.#waiting.filter((each) => !batch.includes(each));
  }

  /**
   * The records from the last one before `from` to `to`, oldest first; at most `limit`, the newest.
   *
   * @param from milliseconds since 1970.
   */
  async between(
    config: EmotionConfiguration,
    { from, to, limit = 20_000 }: { from: number; to: number; limit?: number },
  ): Promise<MoodRecord[]> {
    const newestFirst: MoodRecord[] = this.#waitingRecords(config).reverse();
    let before = Number.MAX_SAFE_INTEGER;
    while (newestFirst.length < limit && (newestFirst.at(-1)?.at ?? to) >= from) {
      const page = await this.#logs.page("moods", { before, limit: 500 });
      if (page.length === 0) break;
      before = page[0]?.seq ?? 0;
      for (const record of page.toReversed()) {
        const read = readMoodRecord(config, record);
        if (read !== undefined) newestFirst.push(read);
      }
    }
    const oldestFirst = newestFirst.filter(({ at }) => at <= to).reverse();
    const first = oldestFirst.findLastIndex(({ at }) => at < from);
    return oldestFirst.slice(Math.max(0, first)).slice(-limit);
  }

  #waitingRecords(config: EmotionConfiguration): MoodRecord[] {
    return this.#waiting.flatMap(({ felt, kind, events, downAt }) => {
      const down = downAt === undefined ? {} : { down_at: isoTime(downAt) };
      const state = felt.state as unknown as JsonObject;
      return (
        readMoodRecord(config, { id: "", seq: 0, at: felt.at, kind, state, events, ...down }) ?? []
      );
    });
  }
}

function readMoodRecord(
  config: EmotionConfiguration,
  record: StoredRecord,
): MoodRecord | undefined {
  const at = instantOf(record["at"]);
  const kind = (["up", "felt", "down"] as const).find((each) => each === record["kind"]);
  if (at === undefined || kind === undefined || !isJsonObject(record["state"])) return undefined;
  const { state } = restoreEmotions(config, {}, record["state"], at);
  const downAt = instantOf(record["down_at"]);
  const events = Array.isArray(record["events"]) ? record["events"].flatMap(readEvent) : [];
  return { at, kind, state, events, ...(downAt === undefined ? {} : { downAt }) };
}

function readEvent(stored: unknown): readonly MoodEvent[] {
  if (!isJsonObject(stored)) return [];
  const at = instantOf(stored["at"]);
  const { name, intensity, wound } = stored;
  if (at === undefined || typeof name !== "string" || typeof intensity !== "number") return [];
  const event = name.slice(0, emotionLimits.nameLength);
  return [{ at, event, intensity, ...(typeof wound === "string" ? { wound } : {}) }];
}

function instantOf(value: unknown): number | undefined {
  const at = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isFinite(at) ? at : undefined;
}
