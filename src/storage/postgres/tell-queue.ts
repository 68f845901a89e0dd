import { errorName } from "../../errors.ts";
import type { NewId } from "../../ids.ts";
import type { Logger } from "../../logger.ts";
import type { Timers } from "../../timers.ts";
import type { Database } from "./database.ts";
import { keptPayload, payloadBytes, toldPayload } from "./tell-payload.ts";
import { tellStatements as statements } from "./tell-statements.ts";

export interface TellQueuePorts {
  readonly database: Database;
  readonly companion: string;
  readonly channel: string;
  readonly processId: string;
  readonly newId: NewId;
  readonly timers: Timers;
  readonly logger: Logger;
}

/** One message on its way: what is notified, and the row that holds it when it is long. */
interface Sending {
  readonly payload: string;
  readonly id: string | null;
  readonly body: string | null;
  readonly length: number;
}

/** So much is told by one statement; and so much waits while the database is away. */
const batchLength = 2 * 1024 * 1024;
const batchCount = 500;
const queueLength = 64 * 1024 * 1024;
const queueCount = 10_000;

/** How long a long message stays, for those who are slow to read it. */
const keptMs = 60_000;

/**
 * Sends what this process tells, in order, as many at once as wait. What cannot be sent is dropped;
 * whoever hears the next message sees by its number that some are missing.
 */
export class TellQueue {
  readonly #ports: TellQueuePorts;
  readonly #waiting: Sending[] = [];
  #length = 0;
  #count = 0;
  #sending: Promise<void> | undefined;
  #cancelForgetting: (() => void) | undefined;
  #closed = false;

  constructor(ports: TellQueuePorts) {
    this.#ports = ports;
  }

  add(text: string): void {
    if (this.#closed) return;
    const n = ++this.#count;
    const isFull = this.#length > queueLength || this.#waiting.length >= queueCount;
    if (isFull) {
      this.#ports.logger.warn({ n }, "too much waits to be told: a message was dropped");
      return;
    }
    const sending = this.#prepared(n, text);
    this.#waiting.push(sending);
    this.#length += sending.length;
    this.#sending ??= this.#send();
  }

  /** Tells no more. Resolves when what was added before is told or dropped. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelForgetting?.();
    await this.#sending;
  }

  /** Removes long messages that everybody had the time to read. */
  async forget(): Promise<void> {
    const { database, companion, logger } = this.#ports;
    try {
      await database.query({ ...statements.forget, values: [companion, keptMs] });
    } catch (error) {
      logger.warn({ error: errorName(error) }, "messages could not be removed");
    }
  }

  #prepared(n: number, text: string): Sending {
    const { processId, newId } = this.#ports;
    const payload = toldPayload(processId, n, text);
    const length = payload.length;
    if (Buffer.byteLength(payload) <= payloadBytes) {
      return { payload, id: null, body: null, length };
    }
    const id = newId();
    return { payload: keptPayload(processId, n, id), id, body: text, length };
  }

  async #send(): Promise<void> {
    await Promise.resolve(); // what is told in one go is sent in one
    while (this.#waiting.length > 0) {
      const batch = this.#batch();
      try {
        await this.#tell(batch);
      } catch (error) {
        const fields = { error: errorName(error), count: batch.length };
        this.#ports.logger.warn(fields, "messages could not be told");
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

  async #tell(batch: readonly Sending[]): Promise<void> {
    const { database, companion, channel } = this.#ports;
    const payloads = batch.map(({ payload }) => payload);
    const ids = batch.map(({ id }) => id);
    const bodies = batch.map(({ body }) => body);
    const values = [companion, channel, payloads, ids, bodies];
    await database.query({ ...statements.tell, values });
    if (ids.some((id) => id !== null)) this.#forgetLater();
  }

  #forgetLater(): void {
    if (this.#closed) return;
    this.#cancelForgetting ??= this.#ports.timers.after(keptMs * 1.1, () => {
      this.#cancelForgetting = undefined;
      void this.forget();
    });
  }
}
