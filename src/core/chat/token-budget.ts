import { tokensOf } from "./attachments.ts";
import type { Attachment } from "./message.ts";

/** What of a model's window the history may fill, in tokens. */
const historyBudgets = {
  /** Kept free of the window for the answer; of a small window at most half. */
  answerTokens: 4_096,
  /** Of what is left then. The rest is for persona, tools and what changes from turn to turn. */
  share: 0.75,
  /** For a model whose window is unknown. */
  unknownWindowTokens: 24_000,
} as const;

/**
 * The tokens that a history may take: `budgetTokens` where given, else (window - 4,096) * 0.75, of a
 * window below 8,192 window * 0.375, and 24,000 where it is unknown.
 */
export function historyBudget(
  window: number | undefined,
  budgetTokens: number | undefined,
): number {
  if (budgetTokens !== undefined) return budgetTokens;
  if (window === undefined) return historyBudgets.unknownWindowTokens;
  const { answerTokens, share } = historyBudgets;
  return Math.floor((window - Math.min(answerTokens, window / 2)) * share);
}

/** Estimates one message of so many bytes of UTF-8: a token for each 3 bytes, and at least 4. */
export function estimateTokens(bytes: number): number {
  return Math.max(4, Math.ceil(bytes / 3) + 4);
}

/** What of a message takes tokens. Files go beside its text. */
interface Counted {
  readonly content: string;
  readonly toolCalls?: unknown;
  readonly providerData?: unknown;
  readonly files?: readonly Attachment[] | undefined;
}

/** Estimates a message as a model gets it. */
export function messageTokens({ content, toolCalls, providerData, files = [] }: Counted): number {
  let bytes = Buffer.byteLength(content);
  if (toolCalls !== undefined) bytes += Buffer.byteLength(JSON.stringify(toolCalls));
  if (providerData !== undefined) bytes += Buffer.byteLength(JSON.stringify(providerData));
  return files.reduce((sum, file) => sum + 30 + tokensOf(file), estimateTokens(bytes));
}

/**
 * How many tokens a provider counts for each that is estimated, by the last request that it counted.
 * From 0.5, because some servers count only what they did not cut off, to 4.
 */
export function ratioOf(counted: number, estimated: number): number {
  const ratio = counted / estimated;
  return ratio > 0 && Number.isFinite(ratio) ? Math.min(4, Math.max(0.5, ratio)) : 1;
}
