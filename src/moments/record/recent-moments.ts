import { createHash } from "node:crypto";
import { Lru } from "../../core/lru.ts";
import type { PackageRecord, Sentiment } from "../package/record.ts";
import type { JudgedMessages } from "./judged-messages.ts";
import type { MomentInput } from "./label.ts";
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
interface Shown {
  readonly id: string;
  readonly fromMs: number;
  readonly toMs: number;
}

/** What the recorder remembers of moments that it recorded: receipts, pats, media, windows. */
export class RecentMoments {
  readonly #byKey = new Lru<string, Receipt>(maxReceipts);
  readonly #byName = new Lru<string, Receipt>(maxReceipts);
  #pats: Reacted[] = [];
  #media: number[] = [];
  #windows: Shown[] = [];

  /** The first receipt that any of these keys got. */
  receiptOf(keys: readonly string[]): Receipt | undefined {
    return keys.map((key) => this.#byKey.peek(key)).find((receipt) => receipt !== undefined);
  }

  remember(receipt: Receipt, keys: readonly string[]): void {
    for (const key of keys) this.#byKey.set(key, receipt);
    this.#byName.set(receipt.name, receipt);
  }

  /** Under the name that it was given in the end. */
  renamed(receipt: Receipt): void {
    this.#byName.set(receipt.name, receipt);
  }

  named(name: string): Receipt | undefined {
    return this.#byName.peek(name);
  }

  /** There is no such moment any more, or never will be: its keys are free, and nothing repeats it. */
  forget(gone: Receipt): void {
    for (const receipts of [this.#byKey, this.#byName]) {
      for (const [key, receipt] of receipts) if (receipt === gone) receipts.delete(key);
    }
    this.#pats = this.#pats.filter(({ id }) => id !== gone.id);
    this.#windows = this.#windows.filter(({ id }) => id !== gone.id);
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

  /** Other moments whose windows share part of this one, which is remembered. */
  overlaps(shown: Shown, keptMs: number): PackageRecord["window"]["overlaps"] {
    this.#windows = this.#windows.filter(({ toMs }) => shown.toMs - toMs <= keptMs);
    const shared = this.#windows.map(({ id, fromMs, toMs }) => {
      const ms = Math.min(toMs, shown.toMs) - Math.max(fromMs, shown.fromMs);
      return { id, ms: Math.round(ms) };
    });
    this.#windows.push(shown);
    return shared.filter(({ ms }) => ms > 0);
  }
}

/** Under what the same reaction comes again: it gets the first receipt. */
export function keysOf({ uuid, idempotencyKey }: MomentInput): readonly string[] {
  const keys: string[] = [];
  if (uuid !== undefined) keys.push(`uuid:${uuid}`);
  if (idempotencyKey !== undefined) keys.push(`key:${idempotencyKey}`);
  return keys;
}

/** The same bytes for the same key, in every run. */
export function bytesOfKey(key: string): (into: Uint8Array) => void {
  return (into) => into.set(createHash("sha256").update(key).digest().subarray(0, into.length));
}

/** What a pat is about: of two chats in which nothing was judged, not the same. */
export function targetKey({ chatId, target }: JudgedMessages): string {
  return JSON.stringify([chatId, target.judged?.message_ids ?? null]);
}
