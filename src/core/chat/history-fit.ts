import { type Compaction, summaryText } from "./compaction.ts";
import type { HistoryOptions } from "./history-scope.ts";
import type { ModelInput } from "./message.ts";
import { callBytes, leadEstimate, type ModelRow, resultEstimate } from "./model-row.ts";
import {
  estimateTokens,
  historyBudget,
  type Meter,
  minus,
  noSize,
  plainMeter,
  plus,
  reportedMeter,
  type Size,
} from "./token-budget.ts";
import { type Turn, turnSize } from "./turns.ts";

interface Fit {
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

interface Head {
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

/**
 * A turn that is too big alone, with its oldest call/result pairs replaced by one line that says how
 * many (rule 7). What was said beside the calls stays. When no pair is left and it still is too big,
 * it stays so: a user message is never cut.
 *
 * Which pairs go is decided as the turn grew, row by row: whenever it passed the budget, the oldest
 * went until it was at most half of it. So a further row changes nothing of what was sent before,
 * until the budget is passed again.
 */
function collapsePairs(turn: Turn, budget: number, meter: Meter): Turn {
  if (meter.tokens(turnSize(turn, meter)) <= budget) return turn;
  const count = pairsToRemove(turn, budget, meter);
  if (count === 0) return turn;
  let left = count;
  const rows: ModelRow[] = [];
  for (const row of turn.rows) {
    const gone = Math.min(left, row.pairs.length);
    left -= gone;
    if (gone === 0) rows.push(row);
    else rows.push(...withoutPairs(row, gone));
    if (row.role === "user") rows.push(removedLine(row.seq, count));
  }
  return { ...turn, rows };
}

function pairsToRemove(turn: Turn, budget: number, meter: Meter): number {
  const freed: Size[] = [];
  let dropped = 0;
  let size = meter.size(turn.seq, leadEstimate(removedLine(turn.seq, Number.MAX_SAFE_INTEGER)));
  for (const row of turn.rows) {
    size = plus(size, meter.size(row.seq, textEstimate([row])));
    for (const [index, pair] of row.pairs.entries()) {
      // Rounded up a call, where the message is rounded up once: never less than it will be.
      const call = meter.size(row.seq, Math.ceil(callBytes(pair.call) / 3));
      const whole = plus(call, meter.size(pair.resultSeq ?? row.seq, resultEstimate(pair)));
      size = plus(size, whole);
      freed.push(plus(whole, meter.size(row.seq, textFreed(row, index))));
    }
    if (meter.tokens(size) <= budget) continue;
    for (; dropped < freed.length && meter.tokens(size) > budget / 2; dropped++) {
      size = minus(size, freed[dropped] ?? noSize);
    }
  }
  return dropped;
}

/** Without its first call a row has no artefacts; without its last it is gone, if it says nothing. */
function textFreed(row: ModelRow, index: number): number {
  if (index > 0 && index < row.pairs.length - 1) return 0;
  return textEstimate(withoutPairs(row, index)) - textEstimate(withoutPairs(row, index + 1));
}

/** Of what a row says beside its calls, artefacts included. */
function textEstimate(rows: readonly ModelRow[]): number {
  return rows.reduce((sum, row) => sum + leadEstimate({ ...row, pairs: [] }), 0);
}

/** The artefacts go too: they speak of calls that are no longer there. */
function withoutPairs(row: ModelRow, gone: number): readonly ModelRow[] {
  if (gone === 0) return [row];
  const { seq, role, content } = row;
  const pairs = row.pairs.slice(gone);
  return pairs.length === 0 && content === "" ? [] : [{ seq, role, content, pairs }];
}

/** On the user's side: a model would learn to write such a line, and some refuse to go on after it. */
function removedLine(seq: number, count: number): ModelRow {
  const what = count === 1 ? "tool call and its result are" : "tool calls and their results are";
  return { seq, role: "user", content: `[${count} earlier ${what} left out]`, pairs: [] };
}
