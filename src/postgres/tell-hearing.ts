import { Lru } from "../core/lru.ts";
import type { LeaseName } from "../core/storage/leases.ts";
import { type Heard, type HeardPart, parsePayload } from "./tell-payload.ts";

export interface HearingPorts {
  /** What this process sends itself is not heard. */
  readonly processId: string;
  told(text: string, processId: string): void;
  freed(name: LeaseName): void;
  /** Messages were missed. */
  gap(): void;
}

/** Of so many processes the last message's number is known; the one not heard for longest goes. */
const knownProcesses = 1_000;

/** Makes messages of notifications: in order, each once, and tells when one is missing. */
export class Hearing {
  readonly #ports: HearingPorts;
  /** The number of the last message, by process. */
  readonly #last = new Lru<string, number>(knownProcesses);
  /** What was heard of a long message. One at a time: what is sent together comes together. */
  #begun: { readonly from: string; readonly n: number; readonly texts: string[] } | undefined;
  #closed = false;

  constructor(ports: HearingPorts) {
    this.#ports = ports;
  }

  hear(payload: string): void {
    const heard = parsePayload(payload);
    if (heard === undefined) return;
    if (heard.kind === "freed") {
      this.#ports.freed(heard.name); // also what this process freed: others of it may wait
      return;
    }
    if (heard.from === this.#ports.processId) return;
    const text = heard.kind === "told" ? heard.text : this.#joined(heard);
    if (text !== undefined && this.#isNext(heard)) this.#pass(text, heard.from);
  }

  /** Nothing is passed on any more. */
  close(): void {
    this.#closed = true;
    this.#begun = undefined;
  }

  #pass(text: string | undefined, from: string): void {
    if (this.#closed) return;
    if (text === undefined) this.#ports.gap();
    else this.#ports.told(text, from);
  }

  /** @returns the message, with its last part. One of which a part was missed never comes. */
  #joined({ from, n, index, count, text }: HeardPart): string | undefined {
    const begun = index === 0 ? { from, n, texts: [] } : this.#begun;
    this.#begun = undefined;
    if (begun?.from !== from || begun.n !== n || begun.texts.length !== index) return undefined;
    begun.texts.push(text);
    if (begun.texts.length === count) return begun.texts.join("");
    this.#begun = begun;
    return undefined;
  }

  /** One that was sent twice, because nobody knew whether it was sent, is heard once. */
  #isNext({ from, n }: Exclude<Heard, { kind: "freed" }>): boolean {
    const last = this.#last.peek(from);
    if (last !== undefined && n <= last) return false;
    this.#last.set(from, n);
    if (last !== undefined && n > last + 1) this.#pass(undefined, from);
    return true;
  }
}
