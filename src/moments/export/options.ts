import { withDefaults } from "../../core/options.ts";
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
  readonly filters?: ExportFilters;
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
  readonly decodes?: (jpeg: Uint8Array) => Promise<boolean>;
  readonly onProgress?: (progress: ExportProgress) => void;
  readonly signal?: AbortSignal;
}

/** Sizes of what is written. Viewers run out of memory above these. */
export const exportLimits = {
  shardBytes: 500_000_000,
  /** Held in memory about three times over, and written without a pause. */
  groupBytes: 16_000_000,
  groupRows: 100,
} as const;

const defaults = {
  filters: {} as ExportFilters,
  style: "trl",
  layout: "inner-tar",
  audio: true,
  maxFrames: 8,
  maxPromptChars: 16_000,
  replace: false,
} as const satisfies Partial<FeedbackExportOptions>;

export type ResolvedExportOptions = ReturnType<typeof resolveExportOptions>;

export function resolveExportOptions(options: FeedbackExportOptions) {
  const resolved = withDefaults(options, defaults);
  const { format, maxFrames, maxPromptChars, filters } = resolved;
  if (!feedbackExportFormats.includes(format)) throw new TypeError("format is not one of ours");
  if (!Number.isInteger(maxFrames) || maxFrames < 0 || maxFrames > 240) {
    throw new TypeError("maxFrames must be a whole number from 0 to 240");
  }
  if (!(maxPromptChars >= 1)) throw new TypeError("maxPromptChars must be at least 1");
  const { minScore = 0 } = filters;
  if (!(minScore >= 0 && minScore <= 1)) throw new TypeError("minScore must be from 0 to 1");
  return resolved;
}
