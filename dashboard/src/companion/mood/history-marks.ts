import type { MoodHistory } from "../../api/openapi-types.ts";
import { spanInWords } from "../../ui/durations.ts";
import { downSpans, moodSpans, woundSpans } from "./history-facts.ts";
import { asTitle, inWords } from "./words.ts";

export interface Mark {
  readonly key: string;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly says: string;
}

/** Events, wounds, moods and times without a run as one list, the newest first. */
export function marksOf(history: MoodHistory): Mark[] {
  const events = history.events.map(({ at, event, intensity, wound }, index) => ({
    ...{ key: `event ${index}`, at },
    says:
      asTitle(event) +
      (intensity === 1 ? "" : `, ${intensity} times as strong`) +
      (wound === "limit" ? ", no wound more than there were" : ""),
  }));
  const wounds = woundSpans(history).map(({ id, event, from, to }) => ({
    ...{ key: `wound ${id}`, at: from },
    says: `A wound of ${inWords(event)}, for ${lengthOf(from, to)}`,
  }));
  const moods = moodSpans(history).map(({ mood, from, to }) => ({
    ...{ key: `mood ${from}`, at: from },
    // At the newest moment alone nothing is known of how long.
    says: asTitle(mood) + (to === from ? "" : ` for ${lengthOf(from, to)}`),
  }));
  const down = downSpans(history).map(({ from, to }) => ({
    ...{ key: `down ${from}`, at: from },
    says: `Not running for ${lengthOf(from, to)}`,
  }));
  return [...events, ...wounds, ...moods, ...down].sort((a, b) => b.at - a.at);
}

function lengthOf(from: number, to: number): string {
  return spanInWords((to - from) / 1000);
}
