import {
  type Checks,
  type Defaults,
  oneOf,
  type Resolved,
  resolveOptions,
  whole,
} from "../../core/options.ts";
import type { ExportFilters } from "./selection.ts";

/** What reads the export: TRL (`kto`, `dpo`), `datasets`, your own scripts. */
export const feedbackExportFormats = ["kto", "dpo", "imagefolder", "jsonl"] as const;
export type FeedbackExportFormat = (typeof feedbackExportFormats)[number];

export interface ExportProgress {
  /** First the manifests are read, then rows are written. */
  readonly phase: "select" | "write";
  /** Packages that this phase has finished, of `total`. */
  readonly done: number;
  readonly total: number;
}

export interface FeedbackExportOptions {
  readonly format: FeedbackExportFormat;
  readonly filters?: ExportFilters | undefined;
  /** For `dpo`: `"openai"` writes what OpenAI's preference tuning reads. @default "trl" */
  readonly style?: "trl" | "openai" | undefined;
  /** Pictures a row at most, 0 to 240, for `imagefolder`. @default 8 */
  readonly maxFrames?: number | undefined;
  /**
   * Length of a prompt, in UTF-16 units, past which whole turns are cut from its start, at least 1.
   * TRL drops rows whose prompt fills `max_length`. @default 16_000
   */
  readonly maxPromptChars?: number | undefined;
  /** Replaces an earlier export that stands there. @default false */
  readonly replace?: boolean | undefined;
  readonly onProgress?: ((progress: ExportProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

const defaults = {
  filters: {},
  style: "trl",
  maxFrames: 8,
  maxPromptChars: 16_000,
  replace: false,
  onProgress: undefined,
  signal: undefined,
} as const satisfies Defaults<FeedbackExportOptions>;

const checks: Checks<FeedbackExportOptions> = {
  format: oneOf(...feedbackExportFormats),
  style: oneOf("trl", "openai"),
  maxFrames: whole(0, 240),
  maxPromptChars: whole(1),
};

const noFilters = {
  sentiment: undefined,
  sinceMs: undefined,
  untilMs: undefined,
  chatId: undefined,
  person: undefined,
  source: undefined,
  minScore: 0,
} as const satisfies Defaults<ExportFilters>;

const filterChecks: Checks<ExportFilters> = {
  minScore: ["from 0 to 1", (value) => typeof value === "number" && value >= 0 && value <= 1],
};

export type ExportSettings = Resolved<FeedbackExportOptions, typeof defaults>;

/** @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: an option cannot be used. */
export function exportSettings(given: FeedbackExportOptions): ExportSettings {
  const options = resolveOptions("the options of an export", given, defaults, checks);
  resolveOptions("filters", options.filters, noFilters, filterChecks);
  return options;
}
