import type { StoredRecord } from "../storage/log-store.ts";
import { isFilled } from "./history-fit.ts";
import { checkHistoryOptions, type HistoryOptions, ScopeReader } from "./history-scope.ts";
import { type HistoryView, viewOfScope } from "./history-view.ts";
import { historyBudget } from "./token-budget.ts";
import { turnsOf } from "./turns.ts";

const pageRecords = 200;

/** How many more tokens must be read before they are worth measuring again with large texts shortened. */
const growth = 1.25;

/** Where a history is read from: pages from the end of a log. */
export interface HistorySource {
  /** As `LogStore.page`. */
  page(
    key: string,
    options: {
      readonly before?: number | undefined;
      readonly limit: number;
      readonly isShared?: boolean;
    },
  ): Promise<readonly StoredRecord[]>;
}

/**
 * Reads a chat's log from its end, page by page, until its view is the view of the whole log: to the start of the
 * scope, until a summary covers the rest, or until there is more than the budget holds with large texts shortened.
 *
 * One difference is left, to keep reading bounded: a compaction record that lies further back than
 * that is not found, and the view is without its summary.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`, and what the store rejects with.
 */
export async function readHistory(
  log: HistorySource,
  key: string,
  options: HistoryOptions,
): Promise<HistoryView> {
  checkHistoryOptions(options);
  const scope = new ScopeReader(options);
  const { ratio = 1 } = options;
  const room = { budget: historyBudget(options.window, options.budgetTokens), ratio };
  let measureAt = room.budget / ratio;
  let before: number | undefined;
  for (;;) {
    const page = await log.page(key, { before, limit: pageRecords, isShared: true });
    if (!page.toReversed().every((record) => scope.add(record) !== "outside")) break;
    before = page[0]?.seq ?? 1;
    if (before === 1) break;
    const messages = scope.messages();
    const compaction = scope.compaction();
    if (compaction === "open") continue;
    if (compaction !== undefined) {
      // With the turn in which the summary ends, all that it does not cover was read.
      const isCovered = ({ role, seq }: StoredRecord) =>
        role === "user" && seq <= compaction.upToSeq;
      if (messages.some(({ message, sent }) => sent && isCovered(message))) break;
    } else if (scope.tokens >= measureAt) {
      measureAt = scope.tokens * growth;
      // The first turn may have been read in part.
      const [, ...turns] = turnsOf(messages, options);
      if (turns.length > 1 && isFilled(turns, room)) break;
    }
  }
  return viewOfScope(scope, options);
}
