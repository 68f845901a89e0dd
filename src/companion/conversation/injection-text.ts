import { awayText } from "../../core/turns/turn-context.ts";
import type { QueuedText } from "./injection-queue.ts";

/** A text that waited longer than this, in milliseconds, says its age to the model. */
const sayAgeAfterMs = 5_000;

/** One text of several, in their order, a blank line between; what waited says for how long. */
export function injectionText(items: readonly QueuedText[], nowMs: number): string {
  return items.map(({ text, sinceMs }) => agePrefix(nowMs - sinceMs) + text).join("\n\n");
}

/** "" up to 5 s; past them the whole seconds, minutes, hours or days, rounded down. */
function agePrefix(waitedMs: number): string {
  if (!(waitedMs > sayAgeAfterMs)) return "";
  const age = waitedMs < 60_000 ? `${Math.floor(waitedMs / 1000)} seconds` : awayText(waitedMs);
  return `[${age} ago] `;
}
