import type { CompanionRun } from "../../api/openapi-types.ts";
import { spanInWords } from "../../ui/in-words.ts";

/** Each kind of restart in plain words, and how the companion takes it. */
export const kindWords: Readonly<
  Record<CompanionRun["restart_type"], { readonly title: string; readonly says: string }>
> = {
  fresh_start: {
    title: "First start",
    says: "There was no earlier run and no chat.",
  },
  crash_recovery: {
    title: "Recovered from a crash",
    says: "It was back within 30 seconds and continues as if nothing had happened.",
  },
  short_break: {
    title: "Back after a short break",
    says: "It greets briefly and continues where it stopped.",
  },
  long_absence: {
    title: "Back after a long absence",
    says: "It welcomes people back and remembers what was discussed.",
  },
};

export const certaintyWords: Readonly<Record<CompanionRun["certainty"], string>> = {
  certain: "Exact: measured by the uptime of the machine.",
  clock: "Measured by the system clock.",
  uncertain: "Uncertain: the clock went backwards, or the end of the last run is unknown.",
};

/** How long nothing ran, in words. */
export function gapInWords(elapsed: number | null): string {
  if (elapsed === null) return "Unknown";
  return elapsed < 1 ? "Less than 1 s" : spanInWords(elapsed);
}
