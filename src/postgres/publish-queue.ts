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

/** One message on its way: its notifications, and their UTF-16 units. */
interface Sending {
  readonly payloads: readonly string[];
  readonly length: number;
}

/** So much is sent by one statement; and so much waits while the database is away. */
const batchLength = 2 * 1024 * 1024;
const batchCount = 500;
const queueLength = 64 * 1024 * 1024;
const queueCount = 10_000;

/**
 * Sends what this process publishes, in order, as many at once as wait. What cannot be sent is dropped:
 * a process that gets the next message sees by its number that some are missing.
 */
export class PublishQueue {
  readonly #process: Omit<ClusterProcess, "companion" | "timers">;
  readonly #waiting: Sending[] = [];
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
    const isFull = this.#length > queueLength || this.#waiting.length >= queueCount;
    if (isFull) {
      this.#process.logger.warn({ n }, "too many messages wait to be sent: one was dropped");
      return;
    }
    const payloads = messagePayloads(this.#process.processId, n, text);
    const length = payloads.reduce((sum, payload) => sum + payload.length, 0);
    this.#waiting.push({ payloads, length });
    this.#length += length;
    this.#sending ??= this.#send();
  }

  /** Takes no more. Resolves when what was added before is sent or dropped. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#sending;
  }

  async #send(): Promise<void> {
    await Promise.resolve(); // what is published in one go is sent in one
    while (this.#waiting.length > 0) {
      const batch = this.#batch();
      try {
        await this.#notify(batch);
      } catch (error) {
        const fields = { error: errorName(error), count: batch.length };
        this.#process.logger.warn(fields, "messages could not be sent");
        if (this.#closed) this.#waiting.length = 0; // closing waits for one failure, not for many
      }
    }
    this.#sending = undefined;
  }

  #batch(): Sending[] {
    let length = 0;
    let count = 0;
    for (const sending of this.#waiting) {
      length += sending.length;
      if (count > 0 && (length > batchLength || count >= batchCount)) break;
      count++;
    }
    const batch = this.#waiting.splice(0, count);
    for (const sending of batch) this.#length -= sending.length;
    return batch;
  }

  async #notify(batch: readonly Sending[]): Promise<void> {
    const { database, channel } = this.#process;
    const payloads = batch.flatMap((sending) => sending.payloads);
    await database.query({ ...notify, values: [channel, payloads] });
  }
}
