import { Lru } from "../../core/lru.ts";
import { sha256 } from "../../core/sha256.ts";
import { packageId } from "../package/package-name.ts";
import type { Sentiment } from "../package/record.ts";
import type { JudgedMessages } from "./judged-messages.ts";
import type { Receipt } from "./receipt.ts";

const duplicateMs = 30_000;
const hourMs = 3_600_000;
/**
 * How many moments an hour keep pictures and sound. One more keeps its label and its words: a person is never
 * refused for being frequent.
 */
const maxMediaPerHour = 60;
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
  /** By the id of the package. */
  readonly #byId = new Lru<string, Receipt>(maxReceipts);
  #pats: Reacted[] = [];
  #media: number[] = [];

  /** Also by the name that it has now, which differs where its first one was taken. */
  remember(receipt: Receipt): void {
    this.#byId.set(receipt.id, receipt);
    this.#byId.set(packageId(receipt.name), receipt);
  }

  /** @param of a uuid, or the name of a package. */
  receipt(of: string): Receipt | undefined {
    return this.#byId.peek(packageId(of));
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

  /** Whether a moment may keep pictures and sound; it counts then. */
  mayKeepMedia(ageMs: number): boolean {
    this.#media = this.#media.filter((at) => ageMs - at < hourMs);
    return this.#media.length < maxMediaPerHour && this.#media.push(ageMs) > 0;
  }
}

/** The same bytes for the same key, in every run. */
export function bytesOfKey(key: string): (into: Uint8Array) => void {
  return (into) => into.set(sha256(key).subarray(0, into.length));
}

/** What a pat is about: of two chats in which nothing was judged, not the same. */
export function targetKey({ chatId, target }: JudgedMessages): string {
  return JSON.stringify([chatId, target.judged?.message_ids ?? null]);
}
