import type { LeaseName } from "../core/storage/leases.ts";

/** What a notification says: who sent it, and then one of three things. */
export type Notification =
  /** A message, whole. */
  | { readonly kind: "message"; readonly from: string; readonly n: number; readonly text: string }
  /** A part of one that is too long for a notification. */
  | MessagePart
  /** A name that was released while another process waited for it. */
  | { readonly kind: "freed"; readonly from: string; readonly name: LeaseName };

export interface MessagePart {
  readonly kind: "part";
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
 * A message as it is notified: whole, or in parts that are sent together. No table holds it at any
 * time, so that forgetting has nothing to look for there.
 *
 * @param n counts what a process publishes, from 1: messages that are equal differ in it.
 */
export function messagePayloads(from: string, n: number, text: string): readonly string[] {
  const whole = `${JSON.stringify(["message", from, n])}\n${text}`;
  if (Buffer.byteLength(whole) <= payloadBytes) return [whole];
  const headOf = (index: number, count: number) =>
    `${JSON.stringify(["part", from, n, index, count])}\n`;
  const texts = cut(text, payloadBytes - Buffer.byteLength(headOf(text.length, text.length)));
  return texts.map((part, index) => headOf(index, texts.length) + part);
}

export function freedPayload(from: string, { collection, key }: LeaseName): string {
  return JSON.stringify(["freed", from, collection, key]);
}

/** @returns `undefined` for what none of ours sent: anyone may notify a channel. */
export function parsePayload(payload: string): Notification | undefined {
  const end = payload.indexOf("\n");
  const [kind, from, third, fourth, fifth] = parsedList(end < 0 ? payload : payload.slice(0, end));
  if (typeof from !== "string") return undefined;
  if (kind === "freed" && typeof third === "string" && typeof fourth === "string") {
    return { kind, from, name: { collection: third, key: fourth } };
  }
  if (end < 0 || typeof third !== "number") return undefined;
  const text = payload.slice(end + 1);
  if (kind === "message") return { kind, from, n: third, text };
  if (kind !== "part" || typeof fourth !== "number" || typeof fifth !== "number") return undefined;
  return { kind, from, n: third, index: fourth, count: fifth, text };
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
