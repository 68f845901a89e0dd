import { createHash } from "node:crypto";
import type { JudgedMessages } from "./judged-messages.ts";
import type { MomentInput } from "./label.ts";

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
