// The same in LMDB, which puts what waits at the same time into one commit and syncs that once.
import { open } from "lmdb";
import { turn } from "./product.ts";

export class LmdbStore {
  readonly #database;
  #seq = 0;

  constructor(path: string) {
    this.#database = open<unknown, [string, number] | string>({ path });
  }

  /** One turn in one atomic batch. Resolves when it is on the disk, not already when it is visible. */
  async append(chat: string): Promise<void> {
    await this.#database.batch(() => {
      for (const message of turn()) void this.#database.put([chat, ++this.#seq], message);
      void this.#database.put(chat, { chat, count: this.#seq, at: new Date().toISOString() });
    });
    await this.#database.flushed;
  }

  async close(): Promise<void> {
    await this.#database.close();
  }
}
