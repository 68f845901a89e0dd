import { collapsePairs } from "./collapse.ts";
import { type Compaction, summaryText } from "./compaction.ts";
import type { HistoryOptions } from "./history-scope.ts";
import type { ModelInput } from "./message.ts";
import {
  estimateTokens,
  historyBudget,
  type Meter,
  noSize,
  plainMeter,
  plus,
  reportedMeter,
  type Size,
} from "./token-budget.ts";
import { type Turn, turnSize } from "./turns.ts";

export interface Fit {
  readonly head: readonly ModelInput[];
  readonly turns: readonly Turn[];
  readonly tokens: number;
}

/** Rules 5 to 7: where the view begins, and what becomes of a newest turn that is too big. */
export function fit(
  turns: readonly Turn[],
  head: Head | undefined,
  limits: { readonly budget: number; readonly meter: Meter; readonly viewFromSeq: number },
): Fit {
  const { budget, meter, viewFromSeq } = limits;
  const last = turns.length - 1;
  // tokensFrom[i]: of the head and the turns from i on.
  const tokensFrom: number[] = [];
  let size = head?.size ?? noSize;
  for (let i = last; i >= 0; i--) {
    const turn = turns[i];
    if (turn !== undefined) size = plus(size, turnSize(turn, meter));
    tokensFrom[i] = meter.tokens(size);
  }
  const at = (i: number) => tokensFrom[i] ?? 0;
  const stable = turns.findIndex(({ seq }) => seq >= viewFromSeq);
  let from = stable < 0 ? last : stable;
  if (at(from) > budget) {
    do from++;
    while (at(from) > budget / 2);
    // Past the newest turn nothing is left to weigh, but it is always in.
    from = Math.min(from, last);
  }
  const kept = turns.slice(from);
  const newest = turns[last];
  if (at(from) <= budget || newest === undefined) {
    return { head: head === undefined ? [] : [head.message], turns: kept, tokens: at(from) };
  }
  // Only the newest turn is left: the summary makes room for it first, then its oldest calls.
  const collapsed = collapsePairs(newest, budget, meter);
  return { head: [], turns: [collapsed], tokens: meter.tokens(turnSize(collapsed, meter)) };
}

/**
 * Without the turns that a summary stands for. One that it covers in part stays whole, and the newest
 * turn stays whatever it covers.
 */
export function uncovered(
  turns: readonly Turn[],
  compaction: Compaction | undefined,
): readonly Turn[] {
  if (compaction === undefined) return turns;
  const { upToSeq } = compaction;
  return turns.filter(({ rows }, index) => {
    const next = turns[index + 1];
    return next === undefined || rows.some(({ seq }) => seq > upToSeq && seq < next.seq);
  });
}

/** The report counts only while the prefix that it was made for is the one that is sent again. */
export function meterOf(
  turns: readonly Turn[],
  compaction: Compaction | undefined,
  options: HistoryOptions,
): Meter {
  const { reportedTokens: reported, viewFromSeq } = options;
  if (reported === undefined || viewFromSeq === undefined) return plainMeter;
  if (!(reported.tokens > 0) || !Number.isFinite(reported.tokens)) return plainMeter;
  if (compaction !== undefined && compaction.seq > reported.upToSeq) return plainMeter;
  const budget = historyBudget(options.window, options.budgetTokens);
  const counting = reportedMeter(reported, 1);
  const seen = turns.filter(({ seq }) => seq >= viewFromSeq && seq <= reported.upToSeq);
  const last = seen.at(-1);
  // A turn that is too big alone was not sent whole: the report is of less than is counted here.
  if (last === undefined || turnSize(last, plainMeter).fresh > budget) return plainMeter;
  const head = compaction === undefined ? 0 : summaryEstimate(compaction);
  const estimate = seen.reduce((sum, turn) => sum + turnSize(turn, counting).counted, head);
  return reportedMeter(reported, estimate);
}

export interface Head {
  readonly message: ModelInput;
  readonly size: Size;
}

function summaryEstimate(compaction: Compaction): number {
  return estimateTokens(Buffer.byteLength(summaryText(compaction)));
}

export function summaryHead(compaction: Compaction, meter: Meter): Head {
  return {
    message: { role: "user", content: summaryText(compaction) },
    size: meter.size(compaction.seq, summaryEstimate(compaction)),
  };
}
