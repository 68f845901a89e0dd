import type { Manifest } from "../package/record.ts";
import type { ExportSettings } from "./options.ts";
import type { WrittenFile } from "./out-folder.ts";
import { createdAt } from "./rows.ts";
import { type SkipReason, skipReasons } from "./selection.ts";

/** What an export met so far. */
export interface ExportTally {
  listed: number;
  /** The filters did not ask for them; they are in no list. */
  notSelected: number;
  readonly skipped: { readonly name: string; readonly reason: SkipReason }[];
  readonly rows: ReturnType<typeof talliedRow>[];
}

/** What a report says of a row. */
export function talliedRow(
  manifest: Manifest,
  { frames, cutTurns }: { readonly frames: number; readonly cutTurns: number },
) {
  const { sentiment, consent } = manifest;
  return { sentiment, wording: consent.wording, at: createdAt(manifest), frames, cutTurns };
}

/** `export-report.json`: what is in an export, and what was left out and why. Holds no clock. */
export type FeedbackExportReport = ReturnType<typeof exportReport>;

const maxWordings = 20;

export function exportReport(
  { format, maxFrames, maxPromptChars, filters }: ExportSettings,
  { listed, notSelected, rows, ...tally }: ExportTally,
  files: readonly WrittenFile[],
) {
  const skipped = tally.skipped.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const counted = skipReasons.map((reason) => {
    return [reason, skipped.filter((one) => one.reason === reason).length] as const;
  });
  const sum = (of: (row: ExportTally["rows"][number]) => number) => {
    return rows.reduce((total, row) => total + of(row), 0);
  };
  const times = rows.map(({ at }) => at).sort();
  const wordings = new Set(rows.map(({ wording }) => wording?.toWellFormed()).sort());
  const iso = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString());
  return {
    format,
    /** Only those that the format looks at. */
    options: {
      style: format === "dpo" ? "trl" : null,
      max_frames: format === "imagefolder" ? maxFrames : null,
      max_prompt_chars: format === "jsonl" ? null : maxPromptChars,
    },
    filters: {
      sentiment: filters.sentiment ?? null,
      since: iso(filters.since),
      until: iso(filters.until),
      chat: filters.chat ?? null,
      person: filters.person ?? null,
      source: filters.source ?? null,
      min_score: filters.minScore ?? null,
    },
    packages: {
      listed,
      exported: rows.length,
      not_selected: notSelected,
      skipped: skipped.length,
    },
    rows: {
      total: rows.length,
      positive: sum(({ sentiment }) => Number(sentiment === "positive")),
      negative: sum(({ sentiment }) => Number(sentiment === "negative")),
      frames: sum(({ frames }) => frames),
      /** Rows whose prompt lost whole turns to `max_prompt_chars`, and how many turns in all. */
      cut: sum(({ cutTurns }) => Number(cutTurns > 0)),
      cut_turns: sum(({ cutTurns }) => cutTurns),
    },
    /** Of the triggers, ISO 8601 in UTC; null without rows. */
    first_at: times[0] ?? null,
    last_at: times.at(-1) ?? null,
    /** What people had agreed to, each wording once, sorted; the first 20. */
    consent_wordings: [...wordings]
      .filter((wording) => wording !== undefined)
      .slice(0, maxWordings),
    reasons: Object.fromEntries(counted) as Readonly<Record<SkipReason, number>>,
    /** By name. */
    skipped,
    /** By path. */
    files,
  };
}
