import type { MoodHistory } from "../../api/openapi-types.ts";
import { counted, percent, spanInWords } from "../../ui/in-words.ts";
import { asTitle, inWords } from "./words.ts";

/** In the order in which they are drawn and listed. */
export const emotions = ["joy", "sadness", "anger", "fear", "disgust"] as const;
export const lines = [...emotions, "boredom"] as const;
export type Line = (typeof lines)[number];

export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface MoodSpan extends Span {
  readonly mood: string;
}

/** The values of one line, as many as there are moments; null where nothing is known. */
export function valuesOf(history: MoodHistory, line: Line): readonly (number | null)[] {
  return line === "boredom" ? history.boredom : (history.levels[line] ?? []);
}

/** Each stretch of one mood. One lasts until the next moment's differs or is not known. */
export function moodSpans({ at, mood, to }: MoodHistory): MoodSpan[] {
  const spans: MoodSpan[] = [];
  for (const [index, from] of at.entries()) {
    const current = mood[index] ?? null;
    if (current === null) continue;
    const end = at[index + 1] ?? to;
    const last = spans.at(-1);
    if (last?.mood === current && last.to === from) spans[spans.length - 1] = { ...last, to: end };
    else spans.push({ mood: current, from, to: end });
  }
  return spans;
}

export interface WoundSpan extends Span {
  readonly id: string;
  readonly event: string;
}

/** Each wound's time. One that does not heal by itself lasts to the end of the history. */
export function woundSpans({ wounds, to }: MoodHistory): WoundSpan[] {
  return wounds.map((wound) => ({ ...wound, to: wound.to ?? to }));
}

/** Where no run was up, within the history. A run without an end is still running. */
export function downSpans({ from, to, runs }: MoodHistory): Span[] {
  const spans: Span[] = [];
  let upTo = from;
  for (const run of runs.toSorted((a, b) => a.from - b.from)) {
    if (run.from > upTo) spans.push({ from: upTo, to: Math.min(run.from, to) });
    upTo = Math.max(upTo, run.to ?? to);
  }
  if (upTo < to) spans.push({ from: upTo, to });
  return spans.filter((span) => span.to > span.from);
}

/** The history in a few sentences, which describe the chart. */
export function summaryOf(history: MoodHistory, says: string): string {
  const [first, ...rest] = moodShares(history);
  if (first === undefined) return `No data for ${says}.`;
  const [mood, share] = first;
  const isMoment = Number.isNaN(share);
  const others = rest.slice(0, 3).map(([mood, share]) => `${inWords(mood)} ${percent(share)}`);
  const downMs = downSpans(history).reduce((sum, span) => sum + span.to - span.from, 0);
  return [
    `Mood in ${says}: ${isMoment ? "" : "mostly "}${inWords(mood)}`,
    isMoment ? "" : ` (${percent(share)} of the known time)`,
    others.length === 0 ? "" : `, then ${others.join(", ")}`,
    `. ${counted(history.events.length, "event")}, ${counted(history.wounds.length, "wound")}`,
    downMs < 1000 ? "." : `; not running for ${spanInWords(downMs / 1000)} in all.`,
  ].join("");
}

/**
 * The moods with their share of the time that is known, the most frequent first. The newest moment
 * has no length: when nothing else is known, the share is `NaN`.
 */
function moodShares(history: MoodHistory): [mood: string, share: number][] {
  const total = new Map<string, number>();
  for (const { mood, from, to } of moodSpans(history)) {
    total.set(mood, (total.get(mood) ?? 0) + to - from);
  }
  const all = [...total.values()].reduce((sum, ms) => sum + ms, 0);
  return [...total].sort((a, b) => b[1] - a[1]).map(([mood, ms]) => [mood, ms / all]);
}

/** The spans that the history is shown over, the shortest first. */
export const ranges = [
  { name: "1 h", says: "the last hour", ms: 3_600_000, refreshMs: 15_000 },
  { name: "24 h", says: "the last 24 hours", ms: 86_400_000, refreshMs: 60_000 },
  { name: "7 d", says: "the last 7 days", ms: 7 * 86_400_000, refreshMs: 300_000 },
  { name: "30 d", says: "the last 30 days", ms: 30 * 86_400_000, refreshMs: 300_000 },
] as const;

export type Range = (typeof ranges)[number];

/** A moment of the history as the span calls for: with the day when it is longer than a day. */
export function momentInWords(at: number, range: Range): string {
  const date = new Date(at);
  const time = { hour: "2-digit", minute: "2-digit" } as const;
  if (range.ms <= 3_600_000)
    return date.toLocaleTimeString(undefined, { ...time, second: "2-digit" });
  const day = { weekday: "short", day: "numeric", month: "short" } as const;
  return date.toLocaleString(undefined, { ...day, ...time });
}

/** A label of the chart's time axis: the time, or the day at midnight and in long ranges. */
export function tickLabel(at: number, stepMs: number): string {
  const date = new Date(at);
  const isMidnight = date.getHours() === 0 && date.getMinutes() === 0;
  if (stepMs >= 86_400_000 || isMidnight) {
    return date.toLocaleDateString(undefined, { day: "numeric", month: "short" });
  }
  return date.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
}

export interface Mark {
  readonly key: string;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly says: string;
}

/** Events, wounds, moods and times without a run as one list, the newest first. */
export function marksOf(history: MoodHistory): Mark[] {
  const events = history.events.map(({ at, event, intensity, wound }, index) => ({
    key: `event ${index}`,
    at,
    says:
      asTitle(event) +
      (intensity === 1 ? "" : `, intensity ${intensity}`) +
      (wound === "limit" ? ", no new wound: the limit is reached" : ""),
  }));
  const wounds = woundSpans(history).map(({ id, event, from, to }) => ({
    key: `wound ${id}`,
    at: from,
    says: `Wound from ${inWords(event)}, for ${lengthOf(from, to)}`,
  }));
  const moods = moodSpans(history).map(({ mood, from, to }) => ({
    key: `mood ${from}`,
    at: from,
    // At the newest moment alone nothing is known of how long.
    says: asTitle(mood) + (to === from ? "" : ` for ${lengthOf(from, to)}`),
  }));
  const down = downSpans(history).map(({ from, to }) => ({
    key: `down ${from}`,
    at: from,
    says: `Not running for ${lengthOf(from, to)}`,
  }));
  return [...events, ...wounds, ...moods, ...down].sort((a, b) => b.at - a.at);
}

function lengthOf(from: number, to: number): string {
  return spanInWords((to - from) / 1000);
}
