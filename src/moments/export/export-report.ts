import type { Manifest } from "../package/record.ts";
import type { ExportSettings, FeedbackExportFormat } from "./options.ts";
import type { WrittenFile } from "./out-folder.ts";
import { createdAt } from "./rows.ts";
import { type ExportFilters, type SkipReason, skipReasons } from "./selection.ts";

/** A package that gave no row. */
interface Skipped {
  readonly name: string;
  readonly reason: SkipReason;
}

/** `export-report.json`: what is in an export, and what was left out and why. Holds no clock. */
export interface FeedbackExportReport {
  readonly format: FeedbackExportFormat;
  readonly options: {
    readonly style: string | null;
    readonly max_frames: number | null;
    readonly max_prompt_chars: number | null;
  };
  readonly filters: {
    readonly sentiment: string | null;
    readonly since: string | null;
    readonly until: string | null;
    readonly chat: string | null;
    readonly person: string | null;
    readonly source: string | null;
    readonly min_score: number | null;
  };
  readonly packages: {
    readonly listed: number;
    readonly exported: number;
    /** The filters did not ask for them; they are in no list. */
    readonly not_selected: number;
    readonly skipped: number;
  };
  readonly rows: {
    readonly total: number;
    readonly positive: number;
    readonly negative: number;
    readonly frames: number;
    /** Rows whose prompt lost whole turns to `max_prompt_chars`, and how many turns in all. */
    readonly cut: number;
    readonly cut_turns: number;
  };
  /** Of the triggers, ISO 8601 in UTC; null without rows. */
  readonly first_at: string | null;
  readonly last_at: string | null;
  /** What people had agreed to, each wording once, sorted; the first 20. */
  readonly consent_wordings: readonly string[];
  readonly reasons: Readonly<Record<SkipReason, number>>;
  /** By name. */
  readonly skipped: readonly Skipped[];
  /** By path. */
  readonly files: readonly WrittenFile[];
}

const maxWordings = 20;

/** Collects the report. */
export class ExportTally {
  readonly #skipped: Skipped[] = [];
  readonly #wordings = new Set<string>();
  #listed = 0;
  #notSelected = 0;
  readonly #rows = { total: 0, positive: 0, negative: 0, frames: 0, cut: 0, cut_turns: 0 };
  #first: string | undefined;
  #last: string | undefined;

  get rows(): number {
    return this.#rows.total;
  }

  listed(): void {
    this.#listed++;
  }
  notSelected(): void {
    this.#notSelected++;
  }
  skip(name: string, reason: SkipReason): void {
    this.#skipped.push({ name, reason });
  }

  row(
    manifest: Manifest,
    { frames, cutTurns }: { readonly frames: number; readonly cutTurns: number },
  ): void {
    const rows = this.#rows;
    rows.total++;
    rows[manifest.sentiment]++;
    rows.frames += frames;
    rows.cut += cutTurns > 0 ? 1 : 0;
    rows.cut_turns += cutTurns;
    const at = createdAt(manifest);
    if (this.#first === undefined || at < this.#first) this.#first = at;
    if (this.#last === undefined || at > this.#last) this.#last = at;
    const { wording } = manifest.consent;
    if (wording !== null) this.#wordings.add(wording.toWellFormed());
  }

  done(options: ExportSettings, files: readonly WrittenFile[]): FeedbackExportReport {
    const skipped = this.#skipped.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const reasons = Object.fromEntries(skipReasons.map((reason) => [reason, 0])) as Record<
      SkipReason,
      number
    >;
    for (const { reason } of skipped) reasons[reason]++;
    return {
      format: options.format,
      options: optionsOf(options),
      filters: filtersOf(options.filters),
      packages: {
        listed: this.#listed,
        exported: this.#rows.total,
        not_selected: this.#notSelected,
        skipped: skipped.length,
      },
      rows: { ...this.#rows },
      first_at: this.#first ?? null,
      last_at: this.#last ?? null,
      consent_wordings: [...this.#wordings].sort().slice(0, maxWordings),
      reasons,
      skipped,
      files,
    };
  }
}

/** Only those that the format looks at. */
function optionsOf(options: ExportSettings): FeedbackExportReport["options"] {
  const { format, style, maxFrames, maxPromptChars } = options;
  return {
    style: format === "dpo" ? style : null,
    max_frames: format === "imagefolder" ? maxFrames : null,
    max_prompt_chars: format === "jsonl" ? null : maxPromptChars,
  };
}

function filtersOf(filters: ExportFilters): FeedbackExportReport["filters"] {
  const { sentiment, sinceMs, untilMs, chatId, person, source, minScore } = filters;
  const iso = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString());
  return {
    sentiment: sentiment ?? null,
    since: iso(sinceMs),
    until: iso(untilMs),
    chat: chatId ?? null,
    person: person ?? null,
    source: source ?? null,
    min_score: minScore ?? null,
  };
}
