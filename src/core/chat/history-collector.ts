import type { StoredRecord } from "../storage/log-store.ts";
import { checkHistoryOptions, type HistoryOptions, ScopeReader } from "./history-scope.ts";
import { type HistoryView, viewOfScope } from "./history-view.ts";
import { historyBudget, plainMeter } from "./token-budget.ts";
import { turnSize, turnsOf } from "./turns.ts";

const pageRecords = 200;

/** How much more must be read before its size is worth measuring again. */
const growth = 1.25;

/**
 * Takes a log page by page from its end and says when enough was read: the view of it is then the
 * view of the whole log. Enough is the start of the scope, all that a summary does not cover, or,
 * at the start of a turn, twice the budget and once the window.
 *
 * One difference is left, to keep reading bounded: a compaction record that lies further back than
 * that is not found, and the view is without its summary.
 */
export class HistoryCollector {
  readonly #options: HistoryOptions;
  readonly #scope: ScopeReader;
  readonly #enoughTokens: number;
  #done = false;
  #before: number | undefined;
  #bytes = 0;
  #measureAtBytes: number;

  /** @throws ThroughlineError `THROUGHLINE_INVALID`: see `HistoryOptions`. */
  constructor(options: HistoryOptions) {
    checkHistoryOptions(options);
    this.#options = options;
    this.#scope = new ScopeReader(options);
    const budget = historyBudget(options.window, options.budgetTokens);
    this.#enoughTokens = Math.max(2 * budget, options.window ?? 0);
    this.#measureAtBytes = this.#enoughTokens * 3;
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
      const place = this.#scope.add(record);
      this.#bytes += bytesOf(record);
      this.#done =
        place === "outside" || record.seq === 1 || (place === "turn" && this.#isEnough(record.seq));
    }
    return this.#done;
  }

  view(): HistoryView {
    return viewOfScope(this.#scope, this.#options);
  }

  /** Asked at the first record of a turn only, so that no turn is read in part. */
  #isEnough(seq: number): boolean {
    const compaction = this.#scope.compaction();
    if (compaction === "open") return false;
    // It is known to be usable only once all that it does not cover was read.
    if (compaction !== undefined) return true;
    const { reportedTokens, viewFromSeq } = this.#options;
    if (reportedTokens !== undefined && viewFromSeq !== undefined) {
      // What the provider counted is known for the whole prefix only. The turn before its first one
      // says whether the companion spoke first.
      if (seq >= viewFromSeq && seq <= reportedTokens.upToSeq) return false;
    }
    if (this.#bytes < this.#measureAtBytes) return false;
    this.#measureAtBytes = this.#bytes * growth;
    const turns = turnsOf(this.#scope.messages(), this.#options);
    // The newest turn is in, whatever its size, and so is what the companion said before it, if it is first.
    if (turns.length < 2) return false;
    const tokens = turns.reduce((sum, turn) => sum + turnSize(turn, plainMeter).fresh, 0);
    return tokens > this.#enoughTokens;
  }
}

/** No less than 3 bytes for each token that a record is estimated to have: see `estimateTokens`. */
function bytesOf(record: StoredRecord): number {
  const { content, tool_calls, provider_data, attachments } = record;
  const text = typeof content === "string" ? Buffer.byteLength(content) : 0;
  const more = tool_calls ?? provider_data ?? attachments;
  if (more === undefined) return text + bytesOfEmpty;
  const others = JSON.stringify([tool_calls, provider_data, attachments]);
  return text + bytesOfEmpty + Buffer.byteLength(others);
}

/** For an empty message, which is sent as some words that say so. */
const bytesOfEmpty = 30;

/** Where a history is read from: pages from the end of a log. */
export interface HistorySource {
  /** As `LogStore.page`. */
  page(
    key: string,
    options: { readonly before?: number; readonly limit: number },
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
    const limit = pageRecords;
    done = collector.add(await log.page(key, before === undefined ? { limit } : { before, limit }));
  }
  return collector.view();
}
