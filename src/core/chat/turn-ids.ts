// The ids of what a turn records: fixed, so that each record is stored once whatever is repeated.
import type { StoredMessage } from "./message.ts";

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
