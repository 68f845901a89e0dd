import { errorName } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { LeaseName } from "../fleet.ts";
import type { Database } from "./database.ts";
import { type Heard, parsePayload } from "./tell-payload.ts";
import { tellStatements as statements } from "./tell-statements.ts";

export interface HearingPorts {
  readonly database: Database;
  readonly companion: string;
  /** What this process sends itself is not heard. */
  readonly processId: string;
  readonly logger: Logger;
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
  /** The number of the last message, by process; the one heard last is last. */
  readonly #last = new Map<string, number>();
  /** Ends when everything heard so far was passed on. */
  #passedOn: Promise<void> = Promise.resolve();
  #reading = 0;
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
    if (heard.from === this.#ports.processId || !this.#isNext(heard)) return;
    if (heard.kind === "told" && this.#reading === 0) {
      this.#pass(heard.text, heard.from);
      return;
    }
    this.#reading++;
    this.#passedOn = this.#passedOn.then(async () => {
      const text = heard.kind === "told" ? heard.text : await this.#read(heard.id);
      this.#reading--;
      this.#pass(text, heard.from);
    });
  }

  /** Nothing is passed on any more. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#passedOn;
  }

  #pass(text: string | undefined, from: string): void {
    if (this.#closed) return;
    if (text === undefined) this.#ports.gap();
    else this.#ports.told(text, from);
  }

  /** One that was sent twice, because nobody knew whether it was sent, is heard once. */
  #isNext({ from, n }: Exclude<Heard, { kind: "freed" }>): boolean {
    const last = this.#last.get(from);
    if (last !== undefined && n <= last) return false;
    this.#last.delete(from);
    this.#last.set(from, n);
    if (this.#last.size > knownProcesses) {
      const [oldest = ""] = this.#last.keys();
      this.#last.delete(oldest);
    }
    if (last !== undefined && n > last + 1) this.#pass(undefined, from);
    return true;
  }

  /** @returns `undefined` when it could not be read, or is gone already. */
  async #read(id: string): Promise<string | undefined> {
    const { database, companion, logger } = this.#ports;
    try {
      const [row] = await database.query({ ...statements.read, values: [companion, id] });
      const body = row?.["body"];
      return typeof body === "string" ? body : undefined;
    } catch (error) {
      logger.warn({ error: errorName(error) }, "a message could not be read");
      return undefined;
    }
  }
}
