import { invalid } from "../errors.ts";
import type { HistoryBounds } from "./history-scope.ts";
import type { ModelTarget } from "./model-row.ts";
import { historyBudget, type ReportedTokens } from "./token-budget.ts";

export interface HistoryOptions extends ModelTarget, HistoryBounds {
  /** Context window of the model in tokens; absent: unknown. */
  readonly window?: number | undefined;
  /** @default (window - 4,096) * 0.75, or 24,000 when the window is unknown */
  readonly budgetTokens?: number | undefined;
  /**
   * At most so many messages, in whole turns from the newest; the newest turn is in whatever its
   * length. 0 or less is nothing. A limit for this view: do not store its `fromSeq` otherwise.
   * @default no limit
   */
  readonly lastMessages?: number | undefined;
  /** The `fromSeq` of the view before: the start stays there while it fits. */
  readonly viewFromSeq?: number | undefined;
  /**
   * What the provider counted for the view that began at `viewFromSeq`, its newest message and the
   * answer included; only for the same provider and model. Unused without `viewFromSeq`.
   */
  readonly reportedTokens?: ReportedTokens | undefined;
}

/** @throws ThroughlineError `THROUGHLINE_INVALID`. */
export function checkHistoryOptions(options: HistoryOptions): void {
  historyBudget(options.window, options.budgetTokens);
  const { lastMessages, startSeq, clearSeq, providerResetSeq, viewFromSeq } = options;
  const whole = { lastMessages, startSeq, clearSeq, providerResetSeq, viewFromSeq };
  for (const [name, value] of Object.entries(whole)) {
    if (value === undefined || Number.isInteger(value)) continue;
    throw invalid(`${name} must be a whole number`);
  }
}
