import { createHash } from "node:crypto";
import { Lru } from "../../core/lru.ts";
import { makeUuidV7, packageId } from "../package/package-name.ts";
import type { Sentiment } from "../package/record.ts";
import type { JudgedMessages } from "./judged-messages.ts";
import type { Receipt } from "./receipt.ts";

const duplicateMs = 30_000;
const hourMs = 3_600_000;
const maxReceipts = 1_000;

interface Reacted {
  readonly id: string;
  readonly ageMs: number;
  readonly sentiment: Sentiment;
  /** Of what was judged, and the chat; the same text is the same target. */
  readonly target: string;
}

/** What the recorder remembers of moments that it recorded: receipts, pats, media. */
export class RecentMoments {
  /** Of the package, and of the idempotency key, where it has one. */
  readonly #byId = new Lru<string, Receipt>(maxReceipts);
  #pats: Reacted[] = [];
  #media: number[] = [];

  /** The first receipt that any of these ids got. */
  receiptOf(ids: readonly string[]): Receipt | undefined {
    return ids.map((id) => this.#byId.peek(id)).find((receipt) => receipt !== undefined);
  }

  remember(receipt: Receipt, ids: readonly string[]): void {
    for (const id of ids) this.#byId.set(id, receipt);
  }

  named(name: string): Receipt | undefined {
    return this.#byId.peek(packageId(name));
  }

  /** There is no such moment any more, or never will be: its keys are free, and nothing repeats it. */
  forget(gone: Receipt): void {
    for (const [id, receipt] of this.#byId) if (receipt === gone) this.#byId.delete(id);
    this.#pats = this.#pats.filter(({ id }) => id !== gone.id);
  }

  /** A pat of the same sentiment about the same turn within 30 s; it is remembered if there is none. */
  duplicateOf(pat: Omit<Reacted, "id">): string | undefined {
    this.#pats = this.#pats.filter(({ ageMs }) => pat.ageMs - ageMs <= duplicateMs);
    const same = ({ sentiment, target }: Reacted) => {
      return sentiment === pat.sentiment && target === pat.target;
    };
    return this.#pats.find(same)?.id;
  }

  rememberPat(pat: Reacted): void {
    this.#pats.push(pat);
  }

  /** How many moments of the last hour kept pictures or sound. */
  mediaInHour(ageMs: number): number {
    this.#media = this.#media.filter((at) => ageMs - at < hourMs);
    return this.#media.length;
  }

  rememberMedia(ageMs: number): void {
    this.#media.push(ageMs);
  }
}

/** The id of what a key recorded: the same in every run. */
export function idsOfKey(key: string | undefined): readonly string[] {
  return key === undefined ? [] : [packageId(makeUuidV7(0, bytesOfKey(key)))];
}

/** The same bytes for the same key, in every run. */
export function bytesOfKey(key: string): (into: Uint8Array) => void {
  return (into) => into.set(createHash("sha256").update(key).digest().subarray(0, into.length));
}

/** What a pat is about: of two chats in which nothing was judged, not the same. */
export function targetKey({ chatId, target }: JudgedMessages): string {
  return JSON.stringify([chatId, target.judged?.message_ids ?? null]);
}
