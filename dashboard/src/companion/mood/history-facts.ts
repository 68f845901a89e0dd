import type { MoodHistory } from "../../api/openapi-types.ts";
import { fullTime, spanInWords } from "../../ui/in-words.ts";
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
export function summaryOf(history: MoodHistory, range: Range): string {
  const since = knownSince(history);
  if (since === undefined) return `Nothing is recorded for ${range.says}.`;
  const downMs = downSpans({ ...history, from: since }).reduce(
    (sum, { from, to }) => sum + to - from,
    0,
  );
  const isDown = downMs >= 1_000;
  return [
    moodsInWords(history, range),
    `${amount(history.events.length, "event")} and ${amount(history.wounds.length, "wound", false)}.`,
    !isDown ? "" : `Throughline was not running for ${lengthInWords(downMs)}.`,
    since > history.from
      ? `${isDown ? "It" : "Throughline"} was not running before ${fullTime(since)}.`
      : "",
  ]
    .filter((sentence) => sentence !== "")
    .join(" ");
}

/** "Mostly happy over the last hour, with a curious spell." */
function moodsInWords(history: MoodHistory, { says }: Range): string {
  const [first, ...others] = moodShares(history);
  if (first === undefined) return `The mood over ${says} is not known.`;
  // The newest moment has no length: nothing else is known.
  if (Number.isNaN(first.share)) return `${asTitle(first.mood)} now.`;
  if (others.length === 0) return `${asTitle(first.mood)} over ${says}.`;
  const next = others.slice(0, 3);
  if (first.share < 0.5) {
    const moods = [first, ...next].map(({ mood }) => inWords(mood));
    return `${asTitle(listed(moods))} by turns over ${says}.`;
  }
  const spells = next.map(({ mood, count }) => spell(inWords(mood), count));
  return `Mostly ${inWords(first.mood)} over ${says}, with ${listed(spells)}.`;
}

function spell(mood: string, count: number): string {
  if (count > 1) return `${mood} spells`;
  return `${/^[aeiou]/.test(mood) ? "an" : "a"} ${mood} spell`;
}

const andList = new Intl.ListFormat("en-GB", { type: "conjunction" });

function listed(words: readonly string[]): string {
  return andList.format(words);
}

const numbers = [
  "no",
  "one",
  "two",
  "three",
  "four",
  "five",
  "six",
  "seven",
  "eight",
  "nine",
  "ten",
];

/** "Two events", "no wounds", "12 events". */
function amount(count: number, noun: string, isFirst = true): string {
  const words = `${numbers[count] ?? count.toLocaleString("en-GB")} ${noun}${count === 1 ? "" : "s"}`;
  return isFirst ? words.charAt(0).toUpperCase() + words.slice(1) : words;
}

const units = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
] as const;

/** A length of time for a sentence: "59 minutes", "2 hours and 5 minutes". */
function lengthInWords(ms: number): string {
  const big = units.findIndex(([, size]) => ms >= size);
  let left = ms;
  const parts = units.slice(big, big + 2).flatMap(([unit, size]) => {
    const count = Math.floor(left / size);
    left -= count * size;
    return count === 0 ? [] : [`${count} ${unit}${count === 1 ? "" : "s"}`];
  });
  return listed(parts);
}

interface Share {
  readonly mood: string;
  /** Of the time that is known; `NaN` where only the newest moment is, which has no length. */
  readonly share: number;
  /** How many times it came. */
  readonly count: number;
}

/** The moods, the most frequent first. */
function moodShares(history: MoodHistory): Share[] {
  const spans = moodSpans(history);
  const all = spans.reduce((sum, { from, to }) => sum + to - from, 0);
  const moods = [...new Set(spans.map(({ mood }) => mood))].map((mood) => {
    const own = spans.filter((span) => span.mood === mood);
    const ms = own.reduce((sum, { from, to }) => sum + to - from, 0);
    return { mood, share: ms / all, count: own.length };
  });
  // What has only just begun is no spell yet.
  const lasting = moods.filter(({ share }) => !(share < 0.005));
  return lasting.sort((a, b) => b.share - a.share);
}

/** When the first run in the history was up; `undefined`: none was. */
export function knownSince({ from, to, runs }: Pick<MoodHistory, "from" | "to" | "runs">) {
  const starts = runs.filter((run) => (run.to ?? to) > from).map((run) => Math.max(run.from, from));
  return starts.length === 0 ? undefined : Math.min(...starts);
}

/** The spans that the history is shown over, the shortest first. */
export const ranges = [
  { name: "1 hour", says: "the last hour", ms: 3_600_000, refreshMs: 15_000 },
  { name: "24 hours", says: "the last 24 hours", ms: 86_400_000, refreshMs: 60_000 },
  { name: "7 days", says: "the last 7 days", ms: 7 * 86_400_000, refreshMs: 300_000 },
  { name: "30 days", says: "the last 30 days", ms: 30 * 86_400_000, refreshMs: 300_000 },
] as const;

export type Range = (typeof ranges)[number];

/** The longest range that shows something that the next shorter one does not. */
export function longestRange(since: number | undefined, now: number): Range {
  const [shortest] = ranges;
  if (since === undefined) return shortest;
  return ranges.find(({ ms }) => now - ms <= since) ?? ranges[3];
}

/** Less than this is not drawn: it would be an empty chart. */
const shortestMs = 10_000;

/** Whether there is something to draw. */
export function hasCourse(history: MoodHistory): boolean {
  return history.to - (knownSince(history) ?? history.to) >= shortestMs;
}

/** Where the chart begins: where the range does or, if most of that was before the first run, just before it. */
export function chartStart(range: Range, since: number | undefined, now: number): number {
  const start = now - range.ms;
  if (since === undefined || since - start < range.ms / 2) return start;
  return Math.round(since - (now - since) / 50) - 1_000;
}

const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const clock = new Intl.DateTimeFormat("en-GB", { timeStyle: "short" });
const withSeconds = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });

/** A label of the chart's time axis: the time, or the day at midnight and in long ranges. */
export function tickLabel(at: number, stepMs: number): string {
  const date = new Date(at);
  const isMidnight = date.getHours() === 0 && date.getMinutes() === 0;
  if (stepMs >= 86_400_000 || isMidnight) return day.format(date);
  return (stepMs < 60_000 ? withSeconds : clock).format(date);
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
