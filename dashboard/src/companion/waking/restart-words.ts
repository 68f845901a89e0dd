import type { CompanionSession } from "../../api/openapi-types.ts";
import { spanInWords } from "../../ui/in-words.ts";

/** Each kind of restart in plain words, and how the companion takes it. */
export const kindWords: Readonly<
  Record<CompanionSession["restart_type"], { readonly title: string; readonly says: string }>
> = {
  fresh_start: {
    title: "A first start",
    says: "There was nothing before: no earlier run, and no chat.",
  },
  crash_recovery: {
    title: "Cut off, and back at once",
    says: "It was back within half a minute, and goes on as if nothing had happened.",
  },
  short_break: {
    title: "Back after a short break",
    says: "It greets briefly, and goes on where it was.",
  },
  long_absence: {
    title: "Back after a long absence",
    says: "It welcomes people back, and knows what was talked about.",
  },
};

export const certaintyWords: Readonly<Record<CompanionSession["certainty"], string>> = {
  certain: "Certain: measured without the clock, on a machine that stayed on.",
  clock: "Measured by the clock; right if the clock was.",
  uncertain: "Uncertain: the clock went backwards, or nothing says when the last run ended.",
};

/** How long nothing ran, in words. */
export function gapInWords(elapsed: number | null): string {
  if (elapsed === null) return "An unknown time";
  return elapsed < 1 ? "A moment" : spanInWords(elapsed);
}
