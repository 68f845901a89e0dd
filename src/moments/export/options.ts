import type { ExportFilters, SkipReason } from "./selection.ts";

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
  readonly filters?: ExportFilters;
  /** Pictures a row at most, for `imagefolder`. @default 8 */
  readonly maxFrames?: number;
  /**
   * Length of a prompt, in UTF-16 units, past which whole turns are cut from its start, at least 1.
   * TRL drops rows whose prompt fills `max_length`. @default 16_000
   */
  readonly maxPromptChars?: number;
  /** Replaces an earlier export that stands there. @default false */
  readonly replace?: boolean;
  /** Says why a package may not be exported that its status allows. @default every one may be */
  readonly removed?: (name: string) => Promise<SkipReason | undefined>;
  readonly onProgress?: (progress: ExportProgress) => void;
  readonly signal?: AbortSignal;
}

export const exportDefaults = {
  filters: {},
  maxFrames: 8,
  maxPromptChars: 16_000,
  replace: false,
} as const;

export type ExportSettings = FeedbackExportOptions &
  Required<Pick<FeedbackExportOptions, keyof typeof exportDefaults>>;
