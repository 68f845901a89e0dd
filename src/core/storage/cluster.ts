import { errorName, invalid } from "../errors.ts";
import { checkJson, freezeDeep, isJsonObject, type JsonObject, tooLarge } from "../json.ts";
import type { Logger } from "../logger.ts";
import type { Timers } from "../timers.ts";

/**
 * The processes that write the place of a storage at the same time, and the messages between them.
 * Every storage has one: `LocalCluster` is that of a process that is alone.
 */
export interface Cluster {
  /** Of this process, unique among all that ever joined. */
  readonly processId: string;

  /** Whether other processes may write this place too. */
  readonly isShared: boolean;

  /**
   * Sends a message to every other process, once each, in this order for those that listen all the
   * time; not to this one. Best effort: a process that is away never gets it. The message is copied
   * before the call returns; after `close()` it is not sent.
   *
   * @param message at most 1 MiB of JSON.
   * @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_TOO_LARGE`. Nothing else is an error.
   */
  publish(message: JsonObject): void;

  /** Calls back for what the others publish, which is frozen. @returns a function that ends it. */
  subscribe(listener: (message: JsonObject, processId: string) => void): () => void;

  /**
   * Calls back when messages may have been missed: what is shown or remembered has to be read again.
   *
   * @returns a function that ends it.
   */
  onMissed(listener: () => void): () => void;
}

/** How long other processes are waited for, in milliseconds. */
const answerMs = 250;

/** Asks the other processes whether one of them has the companion: it answers. */
export async function companionAnswers(
  cluster: Cluster,
  timers: Timers,
  waitMs = answerMs,
): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const end = cluster.subscribe(({ about, say }) => {
    if (about === "companion" && say === "up") resolve(true);
  });
  const cancel = timers.after(waitMs, () => resolve(false), { holdsProcess: true });
  cluster.publish({ about: "companion", say: "who" });
  try {
    return await promise;
  } finally {
    cancel();
    end();
  }
}

/** The most bytes of UTF-8 JSON that one message has. */
const messageBytes = 1024 * 1024;

/**
 * The text of a message that may be published.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_TOO_LARGE`.
 */
export function prepareMessage(message: JsonObject): string {
  if (!isJsonObject(message)) throw invalid("message must be an object");
  checkJson(message, "message");
  const text = JSON.stringify(message);
  if (Buffer.byteLength(text) > messageBytes) {
    throw tooLarge(`a message has at most ${messageBytes} bytes`);
  }
  return text;
}

/** The listeners of one process. One that throws is logged, and harms no other. */
export class Subscribers {
  readonly #messages = new Set<{
    readonly call: (message: JsonObject, processId: string) => void;
  }>();
  readonly #missed = new Set<{ readonly call: () => void }>();
  readonly #logger: Logger;
  #closed = false;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  subscribe(call: (message: JsonObject, processId: string) => void): () => void {
    return this.#added(this.#messages, { call });
  }

  onMissed(call: () => void): () => void {
    return this.#added(this.#missed, { call });
  }

  /** Calls every listener with the same message, frozen. What is no JSON is logged: anyone may have sent it. */
  receive(text: string, processId: string): void {
    this.#guard(() => {
      const message = freezeDeep(JSON.parse(text) as JsonObject);
      for (const { call } of [...this.#messages]) this.#guard(() => call(message, processId));
    });
  }

  missed(): void {
    for (const { call } of [...this.#missed]) this.#guard(call);
  }

  /** No listener is called any more, also not one that is added later. */
  close(): void {
    this.#closed = true;
    this.#messages.clear();
    this.#missed.clear();
  }

  #guard(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#logger.error({ error: errorName(error) }, "a listener of the cluster threw");
    }
  }

  #added<T>(set: Set<T>, item: T): () => void {
    if (!this.#closed) set.add(item);
    return () => {
      set.delete(item);
    };
  }
}
