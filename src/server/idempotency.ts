import { createHash } from "node:crypto";
import type { Clock } from "../core/clock.ts";
import { conflict, invalid } from "../core/errors.ts";
import type { Json } from "../core/json.ts";
import { Lru } from "../core/lru.ts";

/**
 * The id of the message that a key stands for, so that the log itself remembers the key: the same
 * key is the same message, also after a restart.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`: not 1 to 255 printable ASCII characters.
 */
export function messageIdFor(key: string): string {
  if (!/^[\x20-\x7e]{1,255}$/.test(key)) {
    throw invalid("Idempotency-Key must be 1 to 255 printable ASCII characters");
  }
  return `i_${createHash("sha256").update(key).digest("hex").slice(0, 32)}`;
}

/** The same for a retry: shorter, because it becomes part of an id. */
export function retryIdFor(key: string): string {
  return messageIdFor(key).replace("i_", "r_");
}

/** Of so many keys the answers are known, some 3 KB each: a client repeats its last few writes. */
const maxKeys = 1_000;
const keptMs = 3_600_000;

interface Known {
  readonly request: string;
  readonly answer: Promise<object>;
  /** By the monotonic clock. */
  readonly at: number;
}

/**
 * Keys of writes that leave nothing behind that could remember them: for an hour of this process, and
 * 1,000 of them.
 */
export class KnownKeys {
  readonly #clock: Clock;
  /** By what a key stands for; the oldest first, because no use renews one. */
  readonly #known = new Lru<string, Known>(maxKeys);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Does what is asked for, or answers again what the same key was answered; while that is still being
   * done, with it. What fails was not done, and its key is free again.
   *
   * @throws ThroughlineError `THROUGHLINE_CONFLICT`: the key is of another request.
   *   `THROUGHLINE_INVALID`: see `messageIdFor`.
   */
  async once(key: string | undefined, request: Json, work: () => Promise<object>): Promise<object> {
    if (key === undefined) return work();
    const id = messageIdFor(key);
    const digest = createHash("sha256").update(JSON.stringify(request)).digest("base64");
    const known = this.#known.peek(id);
    const now = this.#clock.monotonic();
    if (known === undefined || now - known.at >= keptMs) {
      const made = { request: digest, answer: work(), at: now };
      this.#known.set(id, made);
      made.answer.catch(() => {
        if (this.#known.peek(id) === made) this.#known.delete(id);
      });
      return made.answer;
    }
    if (known.request === digest) return known.answer;
    throw conflict("this key was used for something else");
  }
}
