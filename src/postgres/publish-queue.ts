import { errorName } from "../core/errors.ts";
import type { ClusterProcess } from "./database.ts";
import { messagePayloads } from "./notification.ts";

/**
 * 1: channel; 2: payloads. In this order, and nothing of others in between: notifications of one
 * transaction are delivered together, as they were made.
 */
const notify = {
  name: "throughline_tell",
  text: `select pg_notify($1, payload) from (
  select payload from unnest($2::text[]) with ordinality as each (payload, n) order by n
) as ordered`,
};

/** So many notifications are sent by one statement; and so many wait while the database is away. */
const atOnce = 256;
const mostWaiting = 10_000;

/**
 * Sends what this process publishes, in order, as many at once as wait. What cannot be sent is dropped:
 * a process that gets the next message sees by its number that some are missing.
 */
export class PublishQueue {
  readonly #process: Omit<ClusterProcess, "companion" | "timers">;
  /** The notifications of each message: they go together. */
  readonly #waiting: (readonly string[])[] = [];
  /** How many these are. */
  #length = 0;
  #count = 0;
  #sending: Promise<void> | undefined;
  #closed = false;

  constructor(process: Omit<ClusterProcess, "companion" | "timers">) {
    this.#process = process;
  }

  add(text: string): void {
    if (this.#closed) return;
    const n = ++this.#count;
    const payloads = messagePayloads(this.#process.processId, n, text);
    if (this.#length + payloads.length > mostWaiting) {
      this.#process.logger.warn({ n }, "too many messages wait to be sent: one was dropped");
      return;
    }
    this.#waiting.push(payloads);
    this.#length += payloads.length;
    this.#sending ??= this.#send();
  }

  /** Takes no more. Resolves when what was added before is sent or dropped. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#sending;
  }

  async #send(): Promise<void> {
    const { database, channel } = this.#process;
    await Promise.resolve(); // what is published in one go is sent in one
    while (this.#waiting.length > 0) {
      const batch = this.#batch();
      try {
        await database.query({ ...notify, values: [channel, batch] });
      } catch (error) {
        const fields = { error: errorName(error), count: batch.length };
        this.#process.logger.warn(fields, "messages could not be sent");
        if (this.#closed) this.#waiting.length = 0; // closing waits for one failure, not for many
      }
    }
    this.#sending = undefined;
  }

  /** The notifications of the next messages, of one at least. */
  #batch(): readonly string[] {
    const batch: string[] = [];
    do batch.push(...(this.#waiting.shift() ?? []));
    while (batch.length + (this.#waiting[0]?.length ?? atOnce) <= atOnce);
    this.#length -= batch.length;
    return batch;
  }
}
