import { instantOf } from "../core/chat/stamp.ts";
import { isoTime } from "../core/clock.ts";
import type { NewId } from "../core/ids.ts";
import type { JsonObject } from "../core/json.ts";
import { list, number, object, optional, Place, type Shape, text, word } from "../core/shape.ts";
import type { LogStore, StoredRecord } from "../core/storage/log-store.ts";
import { setVoice } from "./emotion/acts.ts";
import type { EmotionConfiguration } from "./emotion/configuration.ts";
import { type EmotionState, eachLevel, evolve } from "./emotion/emotion.ts";
import { feel } from "./emotion/feel.ts";
import { storedState } from "./emotion/stored-emotions.ts";

/** What happened within this long of the first of it is one record: the state after it, and its events. */
const recordMs = 1_000;
/**
 * The same where no event was felt. So there is at most a record a second, of some 500 bytes
 * and 75 for each further event. Measured: a turn of a talk makes two; a person who is
 * reported as seen all the time makes one in 7 s, 5 MB in a day of that, however often they are reported.
 */
const quietMs = 10_000;
/** Of one record. More of the same few seconds are in the state, and not in the list. */
const maxEvents = 50;
/** Records that wait to be stored. The oldest go first: a disk that fails does not fill the memory. */
const maxWaiting = 1_000;
/** Records that are looked at for one course. */
const maxRead = 20_000;
/** Records of one append, and of one page. */
const batchRecords = 500;
const logKey = "moods";

/** In ISO 8601. */
const moment: Shape<number> = {
  read(value, at) {
    const found = instantOf(value);
    if (found === undefined) at.says("must be a moment");
    return found ?? 0;
  },
  write: isoTime,
};

export interface MoodEvent {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly event: string;
  readonly intensity: number;
  readonly wound?: "added" | "limit" | undefined;
}

/** What was felt at an instant: from then on the state runs by itself. */
export interface MoodRecord {
  readonly kind: "up" | "felt" | "down";
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Read: as if the voice were idle, since what it did next is not recorded. */
  readonly state: EmotionState;
  readonly events: readonly MoodEvent[];
  /** On `up`: when the run before was last known to live. */
  readonly downAt?: number | undefined;
}

const moodEvent = object<MoodEvent>(
  {
    at: moment,
    event: ["name", text()],
    intensity: number(0, 10),
    wound: optional(word(["added", "limit"])),
  },
  "left out",
);

const moodRecord = object<MoodRecord>(
  {
    kind: word(["up", "felt", "down"]),
    at: moment,
    state: storedState,
    events: list(moodEvent),
    downAt: ["down_at", optional(moment)],
  },
  "left out",
);

interface Waiting extends MoodRecord {
  readonly id: string;
  /** When the first of it happened: milliseconds since 1970. */
  readonly since: number;
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

  constructor(logs: LogStore, newId: NewId) {
    this.#logs = logs;
    this.#newId = newId;
  }

  /** Takes note; stored by the next `flush`. */
  note(felt: MoodRecord): void {
    const last = this.#waiting.at(-1);
    if (last !== undefined && isOneWith(last, felt)) {
      const events = [...last.events, ...felt.events].slice(-maxEvents);
      this.#waiting = [...this.#waiting.slice(0, -1), { ...last, ...felt, events }];
      return;
    }
    const all = [...this.#waiting, { ...felt, id: this.#newId(), since: felt.at }];
    // Beginnings and ends of runs tell where the curve has gaps: they stay.
    const oldest = Math.max(
      0,
      all.findIndex(({ kind }) => kind === "felt"),
    );
    this.#waiting = all.length > maxWaiting ? all.toSpliced(oldest, 1) : all;
  }

  /**
   * Stores what was noted: one call at a time. Resolves once it is stored; what could not be waits for the next.
   *
   * @throws ThroughlineError the codes of `LogStore.append`.
   */
  async flush(): Promise<void> {
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
   * in the order of their instants; the newest 20,000 at most. Unreadable ones are left out.
   *
   * @param config in force now: bounds what is read.
   * @param from milliseconds since 1970.
   */
  async between(
    config: EmotionConfiguration,
    { from, to }: { readonly from: number; readonly to: number },
  ): Promise<MoodRecord[]> {
    const kept = [...this.#given, ...this.#waiting];
    const ids = new Set(kept.map(({ id }) => id));
    const idle = (record: MoodRecord) => {
      return { ...record, state: setVoice(config, record.state, "idle") };
    };
    let found: readonly MoodRecord[] = kept.map(idle);
    let before = Number.MAX_SAFE_INTEGER;
    while (found.length < maxRead) {
      const page = await this.#logs.page(logKey, { before, limit: batchRecords });
      if (page.length === 0) break;
      before = page[0]?.seq ?? 0;
      // What waited when this began may have been stored since.
      const read = page.filter(({ id }) => !ids.has(id)).flatMap(readRecord);
      found = [...read.map(idle), ...found];
      // A clock that was set may have put a few records out of order: a whole page of them is old.
      if (read.length > 0 && read.every(({ at }) => at < from)) break;
    }
    const begun = found.filter(
      ({ at, events }) => at <= to || events.some((each) => each.at <= to),
    );
    const inOrder = begun.sort((a, b) => a.at - b.at);
    const first = inOrder.findLastIndex(({ at }) => at < from);
    return inOrder.slice(Math.max(0, first)).slice(-maxRead);
  }
}

/** Reads when something was felt last, by the newest record. */
export async function lastFeltAt(logs: LogStore): Promise<number | undefined> {
  const { records = [] } = (await logs.tail(logKey, 1)) ?? {};
  return records.flatMap(readRecord).at(-1)?.at;
}

/** Whether a record can stand for what is felt after it too. A clock that was set back begins another one. */
function isOneWith(last: Waiting, felt: MoodRecord): boolean {
  const isQuiet = last.events.length === 0 && felt.events.length === 0;
  const passedMs = felt.at - last.since;
  const isFelt = last.kind === "felt" && felt.kind === "felt";
  return isFelt && passedMs >= 0 && passedMs < (isQuiet ? quietMs : recordMs);
}

function recordOf({ id, since: _, ...record }: Waiting): JsonObject & { readonly id: string } {
  const { events, ...written } = moodRecord.write(record) as JsonObject;
  return record.events.length === 0 ? { id, ...written } : { id, ...written, events };
}

function readRecord(record: StoredRecord): readonly MoodRecord[] {
  const place = new Place();
  const read = moodRecord.read(record, place);
  return place.problems.length === 0 ? [read] : [];
}

/** How the companion felt over a span, at instants a step apart. */
export type MoodCourse = ReturnType<typeof moodCourse>;

/** A span of time. `null`: it has not ended, or never ends by itself. */
interface Span {
  readonly from: number;
  readonly to: number | null;
}

/** Computes the course, by the configuration in force now, out of the records that `MoodHistory.between` gave, oldest first. */
export function moodCourse(
  config: EmotionConfiguration,
  records: readonly MoodRecord[],
  span: { readonly from: number; readonly to: number; readonly points: number },
) {
  const { from, to, points } = span;
  const at = Array.from({ length: points }, (_, i) =>
    Math.round(from + ((to - from) * i) / Math.max(1, points - 1)),
  );
  // One that goes on past the span has events in it, and no state.
  const reached = records.filter((record) => record.at <= to);
  const runs = runsOf(reached);
  let next = 0;
  const felt = at.map((instant) => {
    while ((records[next]?.at ?? Number.POSITIVE_INFINITY) <= instant) next++;
    const record = records[next - 1];
    const isUp = runs.some((run) => instant >= run.from && instant <= (run.to ?? to));
    if (record === undefined || !isUp) return undefined;
    const livedMs = Math.min(instant - record.at, livedUntil(record, records[next]));
    return feel(config, evolve(record.state, livedMs));
  });
  return {
    from,
    to,
    /** Milliseconds since 1970, `from` and `to` among them. */
    at,
    /** `null`: no run was up, or unknown. */
    levels: eachLevel((name) => felt.map((each) => each?.levels[name] ?? null)),
    boredom: felt.map((each) => each?.boredom ?? null),
    mood: felt.map((each) => each?.mood ?? null),
    events: records.flatMap(({ events }) => events.filter(({ at }) => at >= from && at <= to)),
    /** When each was there, or will be, if nothing else happens. */
    wounds: woundsOf(config, reached).filter((wound) => (wound.to ?? to) >= from),
    runs,
  };
}

/** The time that was lived between two records: less than the wall clock's, if that was set ahead. */
function livedUntil({ state }: MoodRecord, next: MoodRecord | undefined): number {
  const livedMs = (next?.state.at ?? Number.POSITIVE_INFINITY) - state.at;
  return livedMs >= 0 ? livedMs : Number.POSITIVE_INFINITY; // the record of a clock that was set back
}

function runsOf(records: readonly MoodRecord[]): readonly Span[] {
  const runs: { from: number; to: number | null }[] = [];
  for (const { kind, at, downAt } of records) {
    const open = runs.at(-1);
    if (kind === "down") {
      if (open?.to === null) open.to = at;
    } else if (kind === "up" || open === undefined) {
      // One that did not end in order was last known to live when the next one found it gone.
      if (open?.to === null) open.to = Math.min(at, Math.max(open.from, downAt ?? at));
      runs.push({ from: at, to: null });
    }
  }
  return runs;
}

/** A wound that a record does not know any more was healed by what happened then. */
function woundsOf(config: EmotionConfiguration, records: readonly MoodRecord[]) {
  const wounds = new Map<string, Span & { readonly id: string; readonly event: string }>();
  for (const { at, state } of records) {
    const felt = feel(config, state).wounds;
    const open = new Set(felt.map(({ id }) => id));
    for (const wound of wounds.values()) {
      const isHealed = !open.has(wound.id) && (wound.to === null || wound.to > at);
      if (isHealed) wounds.set(wound.id, { ...wound, to: at });
    }
    for (const { id, event, ageSeconds, healsInMs } of felt) {
      const from = at - Math.round(ageSeconds * 1_000);
      wounds.set(id, { id, event, from, to: healsInMs === null ? null : at + healsInMs });
    }
  }
  return [...wounds.values()];
}
