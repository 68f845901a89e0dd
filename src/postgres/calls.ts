import { closed } from "../core/errors.ts";
import { KeyedMutex } from "../core/mutex.ts";

/** The calls of one storage: in order per key, refused once it closes, finished before it has closed. */
export class Calls {
  readonly #running = new Set<Promise<void>>();
  readonly #keys = new KeyedMutex();
  #isClosed = false;

  /** @throws ThroughlineError `THROUGHLINE_CLOSED`. */
  checkOpen(): void {
    if (this.#isClosed) throw closed();
  }

  /** Runs a call beside the others. */
  run<T>(call: () => Promise<T>): Promise<T> {
    const running = call();
    const end = () => {
      this.#running.delete(ended);
    };
    const ended = running.then(end, end);
    this.#running.add(ended);
    return running;
  }

  /** Runs a call after all of the same key that came before it, however those ended. */
  inOrder<T>(key: string, call: () => Promise<T>): Promise<T> {
    return this.run(() => this.#keys.run(key, call));
  }

  /** Refuses new calls, and resolves when those that were accepted have ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#running);
  }
}
