import type { EmotionConfiguration } from "./emotion/configuration.ts";
import { emotions, evolve, type Levels, type Mood } from "./emotion/emotion.ts";
import { feel } from "./emotion/feel.ts";
import type { MoodEvent, MoodRecord } from "./mood-history.ts";

/** How the companion felt over a span, at instants a step apart. `null`: no run was up, or unknown. */
export interface MoodCourse {
  readonly from: number;
  readonly to: number;
  /** Milliseconds since 1970, `from` and `to` among them. */
  readonly at: readonly number[];
  readonly levels: Readonly<Record<keyof Levels, readonly (number | null)[]>>;
  readonly boredom: readonly (number | null)[];
  readonly mood: readonly (Mood | null)[];
  readonly events: readonly MoodEvent[];
  /** `to`: when it is gone, or will be, if nothing else happens; `null`: never by itself. */
  readonly wounds: readonly {
    readonly id: string;
    readonly event: string;
    readonly from: number;
    readonly to: number | null;
  }[];
  /** When runs were up; `to` is `null` for the one that goes on. */
  readonly runs: readonly { readonly from: number; readonly to: number | null }[];
}

/** Computes the course, by the configuration in force now, out of the records that `MoodHistory.between` gave, oldest first. */
export function moodCourse(
  config: EmotionConfiguration,
  records: readonly MoodRecord[],
  span: { readonly from: number; readonly to: number; readonly points: number },
): MoodCourse {
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
  const levels = Object.fromEntries(
    emotions.map((name) => [name, felt.map((each) => each?.levels[name] ?? null)]),
  ) as unknown as MoodCourse["levels"];
  return {
    from,
    to,
    at,
    levels,
    runs,
    boredom: felt.map((each) => each?.boredom ?? null),
    mood: felt.map((each) => each?.mood ?? null),
    events: records.flatMap(({ events }) => events.filter(({ at }) => at >= from && at <= to)),
    wounds: woundsOf(config, reached).filter((wound) => (wound.to ?? to) >= from),
  };
}

/** The time that was lived between two records: less than the wall clock's, if that was set ahead. */
function livedUntil({ state }: MoodRecord, next: MoodRecord | undefined): number {
  const livedMs = (next?.state.at ?? Number.POSITIVE_INFINITY) - state.at;
  return livedMs >= 0 ? livedMs : Number.POSITIVE_INFINITY; // the record of a clock that was set back
}

function runsOf(records: readonly MoodRecord[]): { from: number; to: number | null }[] {
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
  const wounds = new Map<string, MoodCourse["wounds"][number]>();
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
