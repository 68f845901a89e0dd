import type { LeaseName } from "../fleet.ts";

/** What a notification says: who sent it, and then one of three things. */
export type Heard =
  /** A message, whole. */
  | { readonly kind: "told"; readonly from: string; readonly n: number; readonly text: string }
  /** A message that is too long for a notification: the row that holds it. */
  | { readonly kind: "kept"; readonly from: string; readonly n: number; readonly id: string }
  /** A name that was released while somebody waited for it. */
  | { readonly kind: "freed"; readonly from: string; readonly name: LeaseName };

/**
 * The most bytes of a payload.
 *
 * Source: PostgreSQL refuses 8,000 and more in its default configuration.
 */
export const payloadBytes = 7_900;

/** `n` counts what a process tells, from 1: messages that are equal differ in it. */
export function toldPayload(from: string, n: number, text: string): string {
  return `${JSON.stringify(["told", from, n])}\n${text}`;
}

export function keptPayload(from: string, n: number, id: string): string {
  return `${JSON.stringify(["kept", from, n])}\n${id}`;
}

export function freedPayload(from: string, { collection, key }: LeaseName): string {
  return JSON.stringify(["freed", from, collection, key]);
}

/** @returns `undefined` for what none of ours sent: anyone may notify a channel. */
export function parsePayload(payload: string): Heard | undefined {
  const end = payload.indexOf("\n");
  const [kind, from, third, fourth] = parsedList(end < 0 ? payload : payload.slice(0, end));
  if (typeof from !== "string") return undefined;
  if (kind === "freed" && typeof third === "string" && typeof fourth === "string") {
    return { kind, from, name: { collection: third, key: fourth } };
  }
  if (end < 0 || typeof third !== "number") return undefined;
  const rest = payload.slice(end + 1);
  if (kind === "told") return { kind, from, n: third, text: rest };
  return kind === "kept" ? { kind, from, n: third, id: rest } : undefined;
}

function parsedList(text: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : [];
  } catch {
    return []; // not ours
  }
}
