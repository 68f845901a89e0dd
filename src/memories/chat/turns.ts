import type { ScopedMessage } from "./history-scope.ts";
import type { StoredMessage } from "./message.ts";
import {
  leadEstimate,
  type ModelRow,
  type ModelTarget,
  modelRow,
  resultEstimate,
} from "./model-row.ts";
import { withOpening } from "./opening.ts";
import { type Meter, noSize, plus, type Size } from "./token-budget.ts";
import { pairToolCalls } from "./tool-pairs.ts";

/** A user message and all that answers it. */
export interface Turn {
  /** Of its user message, which is the first row. */
  readonly seq: number;
  readonly rows: readonly ModelRow[];
}

/**
 * The turns of a scope, oldest first, each as legal for the model as one message list can be.
 *
 * A row belongs to the turn that it names, else to the one that it follows. A row that names a turn
 * out of scope is the late answer to an ended session and in no turn. What was said before the first
 * user message goes with that message, but for what a summary tells.
 *
 * @param summarySeq a summary stands for everything up to here.
 */
export function turnsOf(
  messages: readonly ScopedMessage[],
  target: ModelTarget,
  summarySeq = 0,
): readonly Turn[] {
  const pairs = pairToolCalls(messages.flatMap(({ message, sent }) => (sent ? [message] : [])));
  const turns: { readonly seq: number; readonly rows: ModelRow[] }[] = [];
  const named = new Map<string, (typeof turns)[number]>();
  const saidFirst: ModelRow[] = [];
  let isFirst = true;
  for (const { message, sent } of messages) {
    if (message.role === "tool") continue;
    const row = sent ? modelRow(message, pairs.get(message), target) : undefined;
    if (message.role === "user") {
      isFirst = false;
      if (row !== undefined) {
        const first = turns.length === 0 ? withOpening(row, saidFirst) : row;
        turns.push({ seq: message.seq, rows: [first] });
      }
      // A hidden user message opens no turn: its answer is said in the turn that was under way. And
      // one that came into a running turn takes the rest of that turn along.
      const current = turns.at(-1);
      if (current !== undefined) for (const name of namesOf(message)) named.set(name, current);
    } else if (row !== undefined) {
      const isNamed = typeof message.turn === "string";
      const turn = isNamed ? named.get(message.turn) : turns.at(-1);
      if (turn !== undefined) turn.rows.push(row);
      else if (isFirst && !isNamed && row.seq > summarySeq) saidFirst.push(row);
    }
  }
  return turns;
}

function namesOf({ id, turn }: StoredMessage): readonly string[] {
  return typeof turn === "string" && turn !== id ? [id, turn] : [id];
}

function messageCount(turn: Turn): number {
  return turn.rows.reduce((count, { pairs }) => count + 1 + pairs.length, 0);
}

export function turnSize(turn: Turn, meter: Meter): Size {
  return turn.rows.reduce((size, row) => plus(size, rowSize(row, meter)), noSize);
}

function rowSize(row: ModelRow, meter: Meter): Size {
  let size = meter.size(row.seq, leadEstimate(row));
  for (const pair of row.pairs) {
    size = plus(size, meter.size(pair.resultSeq ?? row.seq, resultEstimate(pair)));
  }
  return size;
}

/**
 * The newest whole turns that hold at most `count` messages together; never less than the newest
 * turn, unless `count` is 0 or less.
 */
export function lastTurns(turns: readonly Turn[], count: number): readonly Turn[] {
  if (count <= 0) return [];
  let from = turns.length;
  for (let left = count; from > 0; from--) {
    const turn = turns[from - 1];
    left -= turn === undefined ? 0 : messageCount(turn);
    if (left < 0 && from < turns.length) break;
  }
  return turns.slice(from);
}
