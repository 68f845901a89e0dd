import { Lru } from "../core/lru.ts";
import type { LeaseName } from "../core/storage/leases.ts";
import { type MessagePart, parsePayload } from "./notification.ts";

/** What it tells. */
interface SubscriptionEvents {
  message(text: string, processId: string): void;
  freed(name: LeaseName): void;
  /** Messages were missed. */
  missed(): void;
}

/** Of so many processes the last message's number is known; the one silent for longest goes. */
const knownProcesses = 1_000;

/** Makes messages of notifications: in order, each once, and says when one is missing. */
export class Subscription {
  readonly #processId: string;
  readonly #events: SubscriptionEvents;
  /** The number of the last message, by process. */
  readonly #last = new Lru<string, number>(knownProcesses);
  /** What came of a long message so far. One at a time: what is sent together comes together. */
  #begun: { readonly from: string; readonly n: number; readonly texts: string[] } | undefined;
  #closed = false;

  /** @param processId of this process: what it sends itself is passed over. */
  constructor(processId: string, events: SubscriptionEvents) {
    this.#processId = processId;
    this.#events = events;
  }

  receive(payload: string): void {
    const got = parsePayload(payload);
    if (got === undefined || this.#closed) return;
    if (got.kind === "freed") {
      this.#events.freed(got.name); // also what this process freed: others of it may wait
      return;
    }
    if (got.from === this.#processId) return;
    const text = this.#joined(got);
    if (text !== undefined && this.#isNext(got)) this.#events.message(text, got.from);
  }

  /** Nothing is passed on any more. */
  close(): void {
    this.#closed = true;
    this.#begun = undefined;
  }

  /** @returns the message, with its last part. One of which a part is missing never comes. */
  #joined({ from, n, index, count, text }: MessagePart): string | undefined {
    const begun = index === 0 ? { from, n, texts: [] } : this.#begun;
    this.#begun = undefined;
    if (begun?.from !== from || begun.n !== n || begun.texts.length !== index) return undefined;
    begun.texts.push(text);
    if (begun.texts.length === count) return begun.texts.join("");
    this.#begun = begun;
    return undefined;
  }

  /** If the sender repeats one because it cannot tell whether it was sent, it is received once. */
  #isNext({ from, n }: MessagePart): boolean {
    const last = this.#last.peek(from);
    if (last !== undefined && n <= last) return false;
    this.#last.set(from, n);
    if (last !== undefined && n > last + 1) this.#events.missed();
    return true;
  }
}
