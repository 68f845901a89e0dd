import {
  type Checks,
  type Defaults,
  oneOf,
  type Resolved,
  resolveOptions,
  whole,
} from "../../core/options.ts";
import type { ExportFilters } from "./selection.ts";

/** What reads the export: TRL (`kto`, `kto-vision`, `dpo`), `datasets`, WebDataset, one's own tools. */
export const feedbackExportFormats = [
  "kto",
  "kto-vision",
  "dpo",
  "webdataset",
  "imagefolder",
  "jsonl",
] as const;
export type FeedbackExportFormat = (typeof feedbackExportFormats)[number];

export interface ExportProgress {
  /** First the manifests are read, then rows are written. */
  readonly phase: "select" | "write";
  /** Packages of which this phase has read all that it needs, of `total`; the last may still be written. */
  readonly done: number;
  readonly total: number;
  readonly rows: number;
}

export interface FeedbackExportOptions {
  readonly format: FeedbackExportFormat;
  readonly filters?: ExportFilters | undefined;
  /** For `dpo`: `"openai"` writes what OpenAI's preference tuning reads. @default "trl" */
  readonly style?: "trl" | "openai" | undefined;
  /**
   * For `webdataset`: `"inner-tar"`: the pictures of a package are one member, as `datasets` wants
   * it; `"per-frame"`: each is a member, for the webdataset library. @default "inner-tar"
   */
  readonly layout?: "inner-tar" | "per-frame" | undefined;
  /** For `webdataset`: whether sound is written; `datasets` needs torchcodec for it. @default true */
  readonly audio?: boolean | undefined;
  /** Pictures a row at most, 0 to 240, for `kto-vision` and `imagefolder`. @default 8 */
  readonly maxFrames?: number | undefined;
  /**
   * Length of a prompt, in UTF-16 units, past which whole turns are cut from its start, at least 1.
   * TRL drops rows whose prompt fills `max_length`. @default 16_000
   */
  readonly maxPromptChars?: number | undefined;
  /** Replaces an earlier export that stands there. @default false */
  readonly replace?: boolean | undefined;
  /**
   * Whether a picture can be decoded, asked after its structure was found whole. Default: not asked.
   */
  readonly decodes?: ((jpeg: Uint8Array) => Promise<boolean>) | undefined;
  readonly onProgress?: ((progress: ExportProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Sizes of what is written. Viewers run out of memory above these. */
export const exportLimits = {
  shardBytes: 500_000_000,
  /** Held in memory about three times over, and written without a pause. */
  groupBytes: 16_000_000,
  groupRows: 100,
} as const;

const defaults = {
  filters: {},
  style: "trl",
  layout: "inner-tar",
  audio: true,
  maxFrames: 8,
  maxPromptChars: 16_000,
  replace: false,
  decodes: undefined,
  onProgress: undefined,
  signal: undefined,
} as const satisfies Defaults<FeedbackExportOptions>;

const checks: Checks<FeedbackExportOptions> = {
  format: oneOf(...feedbackExportFormats),
  style: oneOf("trl", "openai"),
  layout: oneOf("inner-tar", "per-frame"),
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
