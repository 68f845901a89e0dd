import { errorName, invalid } from "../errors.ts";
import { checkJson, isJsonObject, type JsonObject, tooLarge } from "../json.ts";
import type { Logger } from "../logger.ts";

/** The most bytes of UTF-8 JSON that one message has. */
export const messageBytes = 1024 * 1024;

/**
 * The text of a message that may be told.
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

/** Who wants to hear what the other processes tell. One that throws is logged, and harms no other. */
export class FleetListeners {
  readonly #told = new Set<{
    readonly call: (message: JsonObject, processId: string) => void;
  }>();
  readonly #gaps = new Set<{ readonly call: () => void }>();
  readonly #logger: Logger;
  #closed = false;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  onTold(call: (message: JsonObject, processId: string) => void): () => void {
    return this.#added(this.#told, { call });
  }

  onGap(call: () => void): () => void {
    return this.#added(this.#gaps, { call });
  }

  /** Each listener gets a copy of its own. */
  tell(text: string, processId: string): void {
    for (const { call } of [...this.#told]) {
      this.#guard(() => call(JSON.parse(text) as JsonObject, processId));
    }
  }

  gap(): void {
    for (const { call } of [...this.#gaps]) this.#guard(call);
  }

  /** Nobody hears anything any more, also who comes later. */
  close(): void {
    this.#closed = true;
    this.#told.clear();
    this.#gaps.clear();
  }

  #guard(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#logger.error({ error: errorName(error) }, "a listener of the fleet threw");
    }
  }

  #added<T>(set: Set<T>, item: T): () => void {
    if (!this.#closed) set.add(item);
    return () => {
      set.delete(item);
    };
  }
}
