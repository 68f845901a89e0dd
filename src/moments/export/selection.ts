// What is asked of an export, and what is left out of it.
import { isPerson } from "../directory/whose.ts";
import type { Manifest, Sentiment, Source } from "../package/record.ts";

/**
 * Why a package is not in an export: the first reason found.
 * The files of a package are compared where a row would be made of it, and not to leave it out.
 */
export const skipReasons = [
  "unverified",
  "newer",
  "retracted",
  "superseded",
  "removed_message",
  "unreadable_chat",
  "no_consent",
  "no_target",
  "synthetic_prompt",
  "empty_completion",
  "later_judgement",
  "no_correction",
] as const;
export type SkipReason = (typeof skipReasons)[number];

/** What is asked for. Each that is given must hold. */
export interface ExportFilters {
  readonly sentiment?: Sentiment;
  /** Of the trigger, in milliseconds since 1970: at this instant or later. */
  readonly since?: number;
  /** The same: before this instant. */
  readonly until?: number;
  readonly chat?: string;
  /** A name seen in the window, in any case of letters. */
  readonly person?: string;
  readonly source?: Source;
  /** 0 to 1: how strong a judgement is at least, whichever its sign. */
  readonly minScore?: number;
}

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

export function matches(manifest: Manifest, filters: ExportFilters): boolean {
  const { sentiment, since, until, chat, person, source, minScore } = filters;
  const at = manifest.timestamp * 1_000;
  return (
    (sentiment === undefined || manifest.sentiment === sentiment) &&
    (since === undefined || at >= since) &&
    (until === undefined || at < until) &&
    (chat === undefined || manifest.chat_id === chat) &&
    (person === undefined || isPerson(manifest.people, person)) &&
    (source === undefined || manifest.source === source) &&
    (minScore === undefined || Math.abs(manifest.score) >= minScore)
  );
}

/** Who judged what, when. */
export type Judgement = Pick<Manifest, "name" | "timestamp" | "chat_id" | "target">;

/**
 * Tells of each of several judgements whether it counts: it is the latest of its answer, and of two at one instant the
 * one whose name sorts last. A later judgement counts against an earlier one even where a filter, missing
 * consent or a damaged file keeps it out itself: what a person took back is not to be trained on.
 */
export function isLatestOf(all: readonly Judgement[]): (one: Judgement) => boolean {
  const latest = new Map<string, string>();
  const inOrder = all.toSorted((a, b) => a.timestamp - b.timestamp || (a.name < b.name ? -1 : 1));
  for (const one of inOrder) for (const key of judgedKeys(one)) latest.set(key, one.name);
  return (one) => judgedKeys(one).every((key) => latest.get(key) === one.name);
}

/**
 * Of each message that was judged: an answer that was still coming out shares some with the whole one,
 * and a regenerated one shares none with the one before it.
 */
function judgedKeys({ chat_id: chatId, target }: Judgement): readonly string[] {
  if (target === null) return [];
  const { message_ids: ids, turn_id: turn } = target;
  const judged = ids.length > 0 ? ids : turn === null ? [] : [turn];
  return judged.map((id) => JSON.stringify([chatId, id]));
}
