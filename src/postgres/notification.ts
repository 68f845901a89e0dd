import type { LeaseName } from "../core/storage/leases.ts";

/** What a notification says. */
export type Notification =
  | MessagePart
  /** A name that was released while another process waited for it. */
  | { readonly kind: "freed"; readonly name: LeaseName };

/** A part of a message: of a short one all of it. */
export interface MessagePart {
  readonly kind: "message";
  readonly from: string;
  readonly n: number;
  /** From 0. */
  readonly index: number;
  readonly count: number;
  readonly text: string;
}

/**
 * The most bytes of a payload.
 *
 * Source: PostgreSQL refuses 8,000 and more in its default configuration.
 */
const payloadBytes = 7_900;

/**
 * A message as it is notified: in parts that are sent together, mostly one. No table holds it at any
 * time, so that forgetting has nothing to look for there.
 *
 * @param n counts what a process publishes, from 1: messages that are equal differ in it.
 */
export function messagePayloads(from: string, n: number, text: string): readonly string[] {
  const headOf = (index: number, count: number) =>
    `${JSON.stringify(["message", from, n, index, count])}\n`;
  const texts = cut(text, payloadBytes - Buffer.byteLength(headOf(text.length, text.length)));
  return texts.map((part, index) => headOf(index, texts.length) + part);
}

export function freedPayload({ collection, key }: LeaseName): string {
  return JSON.stringify(["freed", collection, key]);
}

/** @returns `undefined` for what none of ours sent: anyone may notify a channel. */
export function parsePayload(payload: string): Notification | undefined {
  const end = payload.indexOf("\n");
  const head = parsedList(end < 0 ? payload : payload.slice(0, end));
  const [kind, first, second, index, count] = head;
  if (typeof first !== "string") return undefined;
  if (kind === "freed" && typeof second === "string") {
    return { kind, name: { collection: first, key: second } };
  }
  const isNumbered = [second, index, count].every((each) => typeof each === "number");
  if (kind !== "message" || end < 0 || !isNumbered) return undefined;
  const place = { n: Number(second), index: Number(index), count: Number(count) };
  return { kind, from: first, ...place, text: payload.slice(end + 1) };
}

/** In pieces of at most so many bytes, none of which ends within a character. */
function cut(text: string, most: number): readonly string[] {
  const bytes = Buffer.from(text);
  const pieces: string[] = [];
  for (let start = 0; start < bytes.length; ) {
    let end = Math.min(start + most, bytes.length);
    while (((bytes[end] ?? 0) & 0b1100_0000) === 0b1000_0000) end--;
    pieces.push(bytes.toString("utf8", start, end));
    start = end;
  }
  return pieces;
}

function parsedList(text: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : [];
  } catch {
    return []; // not ours
  }
}
