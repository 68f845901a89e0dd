import { callBytes, leadEstimate, type ModelRow, resultEstimate } from "./model-row.ts";
import { type Meter, minus, noSize, plus, type Size } from "./token-budget.ts";
import { type Turn, turnSize } from "./turns.ts";

/**
 * A turn that is too big alone, with its oldest call/result pairs replaced by one line that says how
 * many (rule 7). What was said beside the calls stays. When no pair is left and it still is too big,
 * it stays so: a user message is never cut.
 *
 * Which pairs go is decided as the turn grew, row by row: whenever it passed the budget, the oldest
 * went until it was at most half of it. So a further row changes nothing of what was sent before,
 * until the budget is passed again.
 */
export function collapsePairs(turn: Turn, budget: number, meter: Meter): Turn {
  if (meter.tokens(turnSize(turn, meter)) <= budget) return turn;
  const count = pairsToDrop(turn, budget, meter);
  if (count === 0) return turn;
  let left = count;
  const rows: ModelRow[] = [];
  for (const row of turn.rows) {
    const gone = Math.min(left, row.pairs.length);
    left -= gone;
    if (gone === 0) rows.push(row);
    else rows.push(...withoutPairs(row, gone));
    if (row.role === "user") rows.push(droppedLine(row.seq, count));
  }
  return { ...turn, rows };
}

function pairsToDrop(turn: Turn, budget: number, meter: Meter): number {
  const freed: Size[] = [];
  let dropped = 0;
  let size = meter.size(turn.seq, leadEstimate(droppedLine(turn.seq, Number.MAX_SAFE_INTEGER)));
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
function droppedLine(seq: number, count: number): ModelRow {
  const what = count === 1 ? "tool call and its result are" : "tool calls and their results are";
  return { seq, role: "user", content: `[${count} earlier ${what} left out]`, pairs: [] };
}
