import { invalid } from "../errors.ts";

/** What of a model's window the history may fill, in tokens. */
const historyBudgets = {
  /** Kept free of the window for the answer. */
  answerTokens: 4_096,
  /** Of what is left then. The rest is for persona, tools and what changes from turn to turn. */
  share: 0.75,
  /** For a model whose window is unknown. */
  unknownWindowTokens: 24_000,
} as const;

/** The last usage that the provider reported: it holds for the prefix that it has seen. */
export interface ReportedTokens {
  /** Everything of the earlier view up to this record is counted in `tokens`. */
  readonly upToSeq: number;
  readonly tokens: number;
}

/**
 * The tokens that a history may take: `budgetTokens` where given, else (window - 4,096) * 0.75, else
 * 24,000. Never less than 0.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`: a window or budget that is no number of tokens.
 */
export function historyBudget(
  window: number | undefined,
  budgetTokens: number | undefined,
): number {
  checkTokens(window, "window");
  checkTokens(budgetTokens, "budgetTokens");
  if (budgetTokens !== undefined) return budgetTokens;
  if (window === undefined) return historyBudgets.unknownWindowTokens;
  const { answerTokens, share } = historyBudgets;
  return Math.max(0, Math.floor((window - answerTokens) * share));
}

function checkTokens(tokens: number | undefined, name: string): void {
  if (tokens === undefined || (Number.isFinite(tokens) && tokens >= 0)) return;
  throw invalid(`${name} must be a number of tokens, 0 or more`);
}

/** The estimate for one message of so many bytes of UTF-8: at least 4, on the high side for English. */
export function estimateTokens(bytes: number): number {
  return Math.max(4, Math.ceil(bytes / 3) + 4);
}

/** Estimated tokens, apart for what the provider has counted already and for what is new to it. */
export interface Size {
  readonly counted: number;
  readonly fresh: number;
}

export const noSize: Size = { counted: 0, fresh: 0 };

export function plus(a: Size, b: Size): Size {
  return { counted: a.counted + b.counted, fresh: a.fresh + b.fresh };
}

export function minus(a: Size, b: Size): Size {
  return { counted: a.counted - b.counted, fresh: a.fresh - b.fresh };
}

/** Measures messages by the provider's last report as far as it reaches, by estimate after it. */
export interface Meter {
  /** The size of a message of this estimate, stored at `seq`. */
  size(seq: number, estimate: number): Size;
  /** A whole number of tokens. */
  tokens(size: Size): number;
}

export const plainMeter: Meter = {
  size: (_seq, estimate) => ({ counted: 0, fresh: estimate }),
  tokens: (size) => size.fresh,
};

/**
 * A meter on which the whole counted prefix weighs exactly what was reported, and a part of it its
 * share by estimate: after the start moved forward the report still says how wrong estimates are.
 *
 * @param prefixEstimate the estimate of the whole counted prefix; more than 0.
 */
export function reportedMeter(reported: ReportedTokens, prefixEstimate: number): Meter {
  return {
    size: (seq, estimate) =>
      seq <= reported.upToSeq ? { counted: estimate, fresh: 0 } : { counted: 0, fresh: estimate },
    tokens: (size) => Math.ceil((reported.tokens * size.counted) / prefixEstimate) + size.fresh,
  };
}
