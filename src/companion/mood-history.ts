import { isoTime } from "../core/clock.ts";
import type { NewId } from "../core/ids.ts";
import { isJsonObject, type JsonObject } from "../core/json.ts";
import type { LogRecord, LogStore, StoredRecord } from "../core/storage/log-store.ts";
import { setVoice } from "./emotion/acts.ts";
import { type EmotionConfiguration, emotionLimits } from "./emotion/configuration.ts";
import type { EmotionState } from "./emotion/emotion.ts";
import { evolve } from "./emotion/emotion.ts";
import { feel } from "./emotion/feel.ts";
import { readState } from "./emotion/stored-emotions.ts";
import type { FeltEvent } from "./life.ts";
import { hasMoved } from "./live-emotions.ts";

/** What happened within this long of the first of it is one record: the state after it, and its events. */
const recordMs = 1_000;
/**
 * The same for what moves nothing that shows. So there is at most a record a second, of some 500 bytes
 * and 75 for each further event. Measured: a turn of a talk makes two; a person who is
 * reported as seen all the time makes one in 7 s, 5 MB in a day of that, however often they are reported.
 */
const quietMs = 10_000;
/** Of one record. More of the same few seconds are in the state, and not in the list. */
const maxEvents = 50;
/** Records that wait to be stored. The oldest go first: a disk that fails does not fill the memory. */
const maxWaiting = 1_000;
/** Records of one append, and of one page. */
const batchRecords = 500;
const logKey = "moods";

/** What was felt at an instant. */
export interface Felt {
  /** ISO 8601. */
  readonly at: string;
  readonly state: EmotionState;
  /** In force from then on. */
  readonly config: EmotionConfiguration;
  readonly events?: readonly FeltEvent[] | undefined;
}

export interface MoodEvent {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly event: string;
  readonly intensity: number;
  readonly wound?: "added" | "limit" | undefined;
}

/** One record as it was read: from then on the state runs by itself. */
export interface MoodRecord {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly kind: "up" | "felt" | "down";
  /** As if the voice were idle: what it did next is not recorded. */
  readonly state: EmotionState;
  readonly events: readonly MoodEvent[];
  /** On `up`: when the run before was last known to live. */
  readonly downAt?: number | undefined;
}

interface Waiting {
  readonly id: string;
  /** What was noted before it. */
  readonly before: Felt | undefined;
  /** When the first of it happened: milliseconds since 1970. */
  readonly since: number;
  readonly felt: Felt;
  readonly kind: MoodRecord["kind"];
  readonly events: NonNullable<Felt["events"]>;
  readonly downAt?: number | undefined;
}

/**
 * How the companion felt, over its lifetime. A feeling runs by itself from one event to the next, so
 * that the states right after events are all that has to be kept: every curve follows from them, by the
 * configuration in force when somebody looks.
 */
export class MoodHistory {
  readonly #logs: LogStore;
  readonly #newId: NewId;
  #waiting: readonly Waiting[] = [];
  /** Given to the log, which may have stored them: they are given again as they are. */
  #given: readonly Waiting[] = [];
  /** Noted last, stored or not. */
  #newest: Felt | undefined;
  #flushing: Promise<void> = Promise.resolve();

  constructor(ports: { readonly logs: LogStore; readonly newId: NewId }) {
    this.#logs = ports.logs;
    this.#newId = ports.newId;
  }

  /** Takes note; stored by the next `flush`. */
  note(felt: Felt, kind: MoodRecord["kind"] = "felt", downAt?: number): void {
    const now = Date.parse(felt.at);
    const added = felt.events ?? [];
    const last = this.#waiting.at(-1);
    const before = this.#newest;
    this.#newest = felt;
    if (kind === "felt" && last?.kind === "felt" && isOneWith(last, felt)) {
      const events = [...last.events, ...added].slice(-maxEvents);
      this.#waiting = [...this.#waiting.slice(0, -1), { ...last, felt, events }];
      return;
    }
    const id = this.#newId();
    const all = [...this.#waiting, { id, before, since: now, felt, kind, events: added, downAt }];
    this.#waiting = all.length > maxWaiting ? withoutOldest(all) : all;
  }

  /**
   * Stores what was noted. Resolves once it is stored; what could not be waits for the next call.
   *
   * @throws ThroughlineError the codes of `LogStore.append`.
   */
  flush(): Promise<void> {
    // One at a time: two would store the same twice.
    const result = this.#flushing.then(() => this.#flush());
    this.#flushing = result.catch(() => undefined); // the caller gets the error
    return result;
  }

  async #flush(): Promise<void> {
    for (;;) {
      if (this.#given.length === 0) {
        this.#given = this.#waiting.slice(0, batchRecords);
        this.#waiting = this.#waiting.slice(batchRecords);
      }
      if (this.#given.length === 0) return;
      await this.#logs.append(logKey, this.#given.map(recordOf));
      this.#given = [];
    }
  }

  /**
   * The records from the last one before `from` to `to`, and one after it that has events before `to`,
   * in the order of their instants; at most `limit`, the newest. Unreadable ones are left out.
   *
   * @param config in force now: bounds what is read.
   * @param from milliseconds since 1970.
   */
  async between(
    config: EmotionConfiguration,
    { from, to, limit = 20_000 }: { from: number; to: number; limit?: number },
  ): Promise<MoodRecord[]> {
    const kept = [...this.#given, ...this.#waiting];
    const ids = new Set(kept.map(({ id }) => id));
    const readable = (records: readonly StoredRecord[]) =>
      records.flatMap((each) => readMoodRecord(config, each) ?? []);
    let found = readable(kept.map((each) => ({ ...recordOf(each), seq: 0 })));
    let before = Number.MAX_SAFE_INTEGER;
    while (found.length < limit) {
      const page = await this.#logs.page(logKey, { before, limit: batchRecords });
      if (page.length === 0) break;
      before = page[0]?.seq ?? 0;
      // What waited when this began may have been stored since.
      const read = readable(page.filter(({ id }) => !ids.has(id)));
      found = [...read, ...found];
      // A clock that was set may have put a few records out of order: a whole page of them is old.
      if (read.length > 0 && read.every(({ at }) => at < from)) break;
    }
    const begun = found.filter(
      ({ at, events }) => at <= to || events.some((each) => each.at <= to),
    );
    const inOrder = begun.sort((a, b) => a.at - b.at);
    const first = inOrder.findLastIndex(({ at }) => at < from);
    return inOrder.slice(Math.max(0, first)).slice(-limit);
  }
}

/**
 * Whether a record can stand for what is felt after it too. One that was put into another's place is
 * drawn as what was felt before it, until then: so neither must show. A clock that was set back begins
 * another record.
 */
function isOneWith({ since, before, felt: last }: Waiting, felt: Felt): boolean {
  const passedMs = Date.parse(felt.at) - since;
  if (passedMs < recordMs) return passedMs >= 0;
  if (passedMs >= quietMs || before === undefined) return false;
  return !isSeen(before, last) && !isSeen(before, felt);
}

/** Whether somebody who watches hears that what was felt before did not just run on. */
function isSeen(before: Felt, felt: Felt): boolean {
  const ranOn = evolve(before.state, Date.parse(felt.at) - Date.parse(before.at));
  const { publishThreshold } = felt.config.settings;
  return hasMoved(feel(before.config, ranOn), feel(felt.config, felt.state), publishThreshold);
}

/** Runs' beginnings and ends tell where the curve has gaps: they stay. */
function withoutOldest(waiting: readonly Waiting[]): readonly Waiting[] {
  const oldest = Math.max(
    0,
    waiting.findIndex(({ kind }) => kind === "felt"),
  );
  return waiting.toSpliced(oldest, 1);
}

function recordOf({ id, felt, kind, events, downAt }: Waiting): LogRecord {
  return {
    id,
    kind,
    at: felt.at,
    state: felt.state as unknown as JsonObject,
    events: events.length === 0 ? undefined : (events as unknown as JsonObject[]),
    down_at: downAt === undefined ? undefined : isoTime(downAt),
  };
}

function readMoodRecord(
  config: EmotionConfiguration,
  record: StoredRecord,
): MoodRecord | undefined {
  const at = instantOf(record["at"]);
  const kind = (["up", "felt", "down"] as const).find((each) => each === record["kind"]);
  const felt = readState(record["state"]);
  if (at === undefined || kind === undefined || felt === undefined) return undefined;
  const state = setVoice(config, felt, "idle");
  const downAt = instantOf(record["down_at"]);
  const events = Array.isArray(record["events"]) ? record["events"].flatMap(readEvent) : [];
  return { at, kind, state, events, downAt };
}

function readEvent(stored: unknown): readonly MoodEvent[] {
  if (!isJsonObject(stored)) return [];
  const at = instantOf(stored["at"]);
  const { name, intensity } = stored;
  const wound = (["added", "limit"] as const).find((each) => each === stored["wound"]);
  if (at === undefined || typeof name !== "string" || typeof intensity !== "number") return [];
  const event = name.slice(0, emotionLimits.nameLength);
  return [{ at, event, intensity, wound }];
}

function instantOf(value: unknown): number | undefined {
  const at = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isFinite(at) ? at : undefined;
}
