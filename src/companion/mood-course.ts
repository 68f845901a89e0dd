import type { EmotionConfiguration } from "./emotion/configuration.ts";
import { eachLevel, evolve } from "./emotion/emotion.ts";
import { feel } from "./emotion/feel.ts";
import type { MoodRecord } from "./mood-history.ts";

/** How the companion felt over a span, at instants a step apart. */
export type MoodCourse = ReturnType<typeof moodCourse>;

/** A span of time. `null`: it goes on, or never ends by itself. */
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
