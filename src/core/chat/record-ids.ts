// The ids of what a turn records: fixed, so that each record is stored once whatever is repeated.

import { invalid } from "../errors.ts";
import { sha256 } from "../sha256.ts";
import { isLongerThan } from "../storage/key.ts";
import { logLimits, type StoredRecord } from "../storage/log-store.ts";
import { isControl, type StoredMessage } from "./message.ts";

interface TurnName {
  readonly id: string;
  readonly retryId?: string | undefined;
}

/** The answer to a turn has one id; the answer of each retry has its own. */
export const answerId = (turnId: string, retryId?: string) =>
  retryId === undefined ? `${turnId}:answer` : `${turnId}:answer:${retryId}`;

/** Where the ids of a turn's calls or results begin. The number of the call, from 1, follows. */
export const stepPrefix = (kind: "call" | "result", { id, retryId }: TurnName) =>
  retryId === undefined ? `${id}:${kind}:` : `${id}:${kind}:${retryId}:`;

/** The id of the record of the call that a result belongs to, where a turn stored it. */
export function callOfResult({ id, turn }: StoredMessage): string | undefined {
  if (typeof turn !== "string") return undefined;
  const prefix = stepPrefix("result", { id: turn });
  return id.startsWith(prefix)
    ? stepPrefix("call", { id: turn }) + id.slice(prefix.length)
    : undefined;
}

/** The number of a call within its turn, from the id of its record or of its result's record. */
export function stepNumber(recordId: string, turn: TurnName): number | undefined {
  for (const kind of ["call", "result"] as const) {
    const prefix = stepPrefix(kind, turn);
    const rest = recordId.startsWith(prefix) ? recordId.slice(prefix.length) : "";
    if (/^[1-9]\d{0,8}$/.test(rest)) return Number(rest);
  }
  return undefined;
}

/**
 * The id of the answer that a call or a result of a retry led to. Until that answer is stored the
 * retry has not replaced anything, and its calls and results are hidden.
 */
export function retryAnswerId({ id, role, turn }: StoredMessage): string | undefined {
  if ((role !== "assistant" && role !== "tool") || typeof turn !== "string") return undefined;
  if (!id.includes(":call:") && !id.includes(":result:")) return undefined;
  for (const kind of ["call", "result"] as const) {
    const prefix = stepPrefix(kind, { id: turn });
    if (!id.startsWith(prefix)) continue;
    const end = id.lastIndexOf(":");
    return end < prefix.length ? undefined : answerId(turn, id.slice(prefix.length, end));
  }
  return undefined;
}

/**
 * Which of the answers to its turn a message belongs to, as the answer, a call or a result: the id of the
 * answer of a retry; `undefined` for the first answer, whatever ids its messages have.
 */
export function variantOf(message: StoredMessage): string | undefined {
  const { id, turn } = message;
  const isAnswer = typeof turn === "string" && id.startsWith(`${answerId(turn)}:`);
  return isAnswer ? id : retryAnswerId(message);
}

/** How the ids begin of our records about one message, or of one attempt. */
const prefixes = {
  pending_input: "pending:",
  replacement: "replaced:",
  removal: "removal:",
  erasure: "erasure:",
  usage: "usage:",
  retry: "retry:",
  part: "part:",
  compaction: "compaction:",
} as const;

const isOurs = new RegExp(`^(?:${Object.values(prefixes).join("|")})`);

/** The records that hide the message which their `target` names. A replacement may show it again. */
export const hidingKinds = ["replacement", "removal"] as const;
/** The records about one message, which is their `target`. */
export const markKinds = [...hidingKinds, "erasure"] as const;
export type MarkKind = (typeof markKinds)[number];

/** The id of the message that a record hides from models and search for good, if it hides one. */
export function hiddenBy(record: StoredRecord): string | undefined {
  const { target } = record;
  return isControl(record, "removal") && typeof target === "string" ? target : undefined;
}

/**
 * The id of the record of this kind about something: the same every time, so that one is enough.
 *
 * @param n another one than the first, where the ids before it are taken.
 */
export function controlId(kind: keyof typeof prefixes, about: string, n = 1): string {
  const prefix = prefixes[kind];
  const id = n === 1 ? `${prefix}${about}` : `${prefix}${about}~${n}`;
  if (!isLongerThan(id, logLimits.idBytes)) return id;
  return `${prefix}${sha256(id).toString("hex")}`;
}

/** Whether an id begins as those of our own records do: no message may have it. */
export function isControlId(id: string): boolean {
  return isOurs.test(id);
}

/** @throws ThroughlineError `THROUGHLINE_INVALID`: the id is one that only a record of ours may have. */
export function checkMessageId(id: unknown): void {
  if (typeof id !== "string" || !isControlId(id)) return;
  const taken = Object.values(prefixes).join(", ");
  throw invalid(`the id of a message must not begin with one of ${taken}`);
}
