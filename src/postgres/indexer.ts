import { errorName } from "../core/errors.ts";
import type { DriverContext } from "./database.ts";
import { indexerStatements as statements } from "./indexer-statements.ts";
import { type IndexedPlace, storeMissingWords } from "./unindexed.ts";

/** Words wait for a pause of this length between appends, but not for longer than `latestMs`. */
const quietMs = 500;
const latestMs = 5_000;

/** Search reads so many records itself; when there are more it has their words stored first. */
const mostUnindexed = 256;

/**
 * Stores the words of one collection after the appends: in the pauses of this process, or when a search
 * would have to read too much. Whatever it has not done, search reads from the records themselves, so
 * that being behind, failing or dying costs time and nothing else.
 */
export class Indexer {
  readonly #context: DriverContext;
  readonly #place: IndexedPlace;
  /** The instants of the first append since words were last stored, if there was one, and the last. */
  #firstAt: number | undefined;
  #lastAt = 0;
  #isTimed = false;
  #running: Promise<void> | undefined;

  constructor(context: DriverContext, place: IndexedPlace) {
    this.#context = context;
    this.#place = place;
  }

  /** Words are missing that search may look for. */
  missing(): void {
    this.#lastAt = this.#context.clock.monotonic();
    this.#firstAt ??= this.#lastAt;
    if (!this.#isTimed) this.#startAfter(quietMs);
  }

  /** Resolves when search has little to read by itself, or more cannot be done about it now. */
  async catchUp(): Promise<void> {
    const { database, companion, collection } = this.#place;
    const [row] = await database.query({ ...statements.count, values: [companion, collection] });
    const count = Number(row?.["count"]);
    if (count > mostUnindexed) await this.#start();
    else if (count > 0) this.missing();
  }

  #startAfter(delayMs: number): void {
    this.#isTimed = true;
    this.#context.timers.after(delayMs, () => {
      this.#isTimed = false;
      const now = this.#context.clock.monotonic();
      const latestAt = (this.#firstAt ?? now) + latestMs;
      const leftMs = Math.min(this.#lastAt + quietMs, latestAt) - now;
      if (leftMs > 0) this.#startAfter(leftMs);
      else void this.#start();
    });
  }

  #start(): Promise<void> {
    if (this.#context.calls.isClosed) return Promise.resolve();
    this.#running ??= this.#context.calls.run(() => this.#run());
    return this.#running;
  }

  async #run(): Promise<void> {
    const { calls, logger } = this.#context;
    this.#firstAt = undefined;
    try {
      while (!calls.isClosed && (await storeMissingWords(this.#place)));
    } catch (error) {
      logger.debug({ error: errorName(error) }, "words for search are left for later");
    } finally {
      this.#running = undefined;
    }
  }
}
