import type { StoredRecord } from "../storage/log-store.ts";
import { isFilled } from "./history-fit.ts";
import { checkHistoryOptions, type HistoryOptions, ScopeReader } from "./history-scope.ts";
import { type HistoryView, viewOfScope } from "./history-view.ts";
import { historyBudget } from "./token-budget.ts";
import { type Turn, turnsOf } from "./turns.ts";

const pageRecords = 200;

/** How many more tokens must be read before they are worth measuring again with large texts shortened. */
const growth = 1.25;

/**
 * Takes a log page by page from its end and says when enough was read: the view of it is then the
 * view of the whole log. Enough is the start of the scope, all that a summary does not cover, or,
 * at the start of a turn, more than the budget holds with large texts shortened.
 *
 * One difference is left, to keep reading bounded: a compaction record that lies further back than
 * that is not found, and the view is without its summary.
 */
export class HistoryCollector {
  readonly #options: HistoryOptions;
  readonly #scope: ScopeReader;
  readonly #budget: number;
  #done = false;
  #before: number | undefined;
  #measureAt: number;
  /** Of all that was read. */
  #turns: readonly Turn[] | undefined;

  /** @throws ThroughlineError `THROUGHLINE_INVALID`: see `HistoryOptions`. */
  constructor(options: HistoryOptions) {
    checkHistoryOptions(options);
    this.#options = options;
    this.#scope = new ScopeReader(options);
    this.#budget = historyBudget(options.window, options.budgetTokens);
    this.#measureAt = this.#budget / (options.ratio ?? 1);
  }

  /** Ask for the page before this `seq` next; `undefined`: for the newest page. */
  get before(): number | undefined {
    return this.#before;
  }

  /**
   * @param page the records right before those of the last call, oldest first; empty: there are none.
   * @returns whether enough was read. What is added after that is passed over.
   */
  add(page: readonly StoredRecord[]): boolean {
    if (page.length === 0) this.#done = true;
    for (let i = page.length - 1; i >= 0 && !this.#done; i--) {
      const record = page[i];
      if (record === undefined) continue;
      this.#before = record.seq;
      this.#turns = undefined;
      const place = this.#scope.add(record);
      this.#done =
        place === "outside" || record.seq === 1 || (place === "turn" && this.#isEnough());
    }
    return this.#done;
  }

  view(): HistoryView {
    return viewOfScope(this.#scope, this.#options, this.#turns);
  }

  /** Asked at the first record of a turn only, so that no turn is read in part. */
  #isEnough(): boolean {
    const compaction = this.#scope.compaction();
    if (compaction === "open") return false;
    // It is known to be usable only once all that it does not cover was read.
    if (compaction !== undefined) return true;
    const { tokens } = this.#scope;
    if (tokens < this.#measureAt) return false;
    this.#measureAt = tokens * growth;
    const turns = turnsOf(this.#scope.messages(), this.#options);
    this.#turns = turns;
    // The newest turn is in, whatever its size, and so is what the companion said before it, if it is first.
    if (turns.length < 2) return false;
    return isFilled(turns, { budget: this.#budget, ratio: this.#options.ratio ?? 1 });
  }
}

/** Where a history is read from: pages from the end of a log. */
export interface HistorySource {
  /** As `LogStore.page`. */
  page(
    key: string,
    options: { readonly before?: number; readonly limit: number; readonly isShared?: boolean },
  ): Promise<readonly StoredRecord[]>;
}

/**
 * The view of a chat's log, read from its end as far as needed.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`, and what the store rejects with.
 */
export async function readHistory(
  log: HistorySource,
  key: string,
  options: HistoryOptions,
): Promise<HistoryView> {
  const collector = new HistoryCollector(options);
  for (let done = false; !done; ) {
    const { before } = collector;
    const page = {
      ...(before === undefined ? {} : { before }),
      limit: pageRecords,
      isShared: true,
    };
    done = collector.add(await log.page(key, page));
  }
  return collector.view();
}
