import { controlId, markKinds } from "../core/chat/control-ids.ts";
import { isControl, isMessage } from "../core/chat/message.ts";
import { messageRecord } from "../core/chat/message-input.ts";
import { instantOf } from "../core/chat/stamp.ts";
import { isThroughlineError } from "../core/errors.ts";
import { isJsonObject, type JsonObject } from "../core/json.ts";
import { checkId } from "../core/storage/batch.ts";
import type { StoredRecord } from "../core/storage/log-store.ts";

export type OwnRecord = JsonObject & { readonly id: string };

/** Whether a metadata line of ours describes the whole chat, and is no record. */
export function isHeadLine(line: JsonObject): boolean {
  const { _type, kind } = line;
  return _type === "metadata" && (kind === undefined || kind === "log" || kind === "commit");
}

/**
 * The record as it was stored, without its number; `undefined` for what is not as we write it.
 */
export function ownRecord(line: JsonObject): OwnRecord | undefined {
  const { seq, ...record } = line;
  const { id } = record;
  if (!Number.isSafeInteger(seq) || Number(seq) < 1 || !isId(id)) return undefined;
  const stored = line as StoredRecord;
  if (isControl(stored)) return typeof line["kind"] === "string" ? { ...record, id } : undefined;
  return isMessage(stored) && !isOwnMessage(record) ? undefined : { ...record, id };
}

/** The id of a message of ours, which outlives what else is wrong with the message. */
export function ownId(line: JsonObject): string | undefined {
  const { id } = line;
  return isId(id) ? id : undefined;
}

/**
 * The id that our record about one message has where nothing else has it: by that it is found again. A later
 * replacement of the same message has the next one. `undefined` for every other record.
 */
export function markId(
  record: OwnRecord,
  taken: ReadonlySet<string> = new Set(),
): string | undefined {
  const { _type, kind, target } = record;
  const known = markKinds.find((each) => each === kind);
  if (_type !== "metadata" || known === undefined || typeof target !== "string") return undefined;
  let id = controlId(known, target);
  for (let n = 2; known === "replacement" && taken.has(id); n++) id = controlId(known, target, n);
  return id;
}

function isOwnMessage(message: JsonObject): boolean {
  const { timestamp, ...rest } = message;
  if (timestamp !== "" && instantOf(timestamp) === undefined) return false;
  try {
    messageRecord(rest, () => "x", "1970-01-01T00:00:00.000Z");
    return true;
  } catch (error) {
    if (!isThroughlineError(error)) throw error;
    return false;
  }
}

function isId(id: unknown): id is string {
  try {
    checkId(id, "id");
    return true;
  } catch (error) {
    if (!isThroughlineError(error)) throw error;
    return false;
  }
}

/** Whether a record is a summary of what was said before it. */
function isSummary(record: OwnRecord): boolean {
  return record["_type"] === "metadata" && record["kind"] === "compaction";
}

/** Shifts the numbers in a record that point at other records. */
export function withSeqs(record: OwnRecord, shift: (seq: number) => number): OwnRecord {
  if (!isSummary(record)) return record;
  const names = ["up_to_seq", "after_seq", "as_of_seq"];
  const entries = Object.entries(record).map(([name, value]) =>
    names.includes(name) && typeof value === "number" ? [name, shift(value)] : [name, value],
  );
  return Object.fromEntries(entries) as OwnRecord;
}

/** A record of numbers by name, such as where each provider's history starts. */
export function numbersOf(value: unknown): Readonly<Record<string, number>> | undefined {
  if (!isJsonObject(value)) return undefined;
  const numbers = Object.entries(value).filter(([, seq]) => Number.isSafeInteger(seq));
  return Object.fromEntries(numbers) as Record<string, number>;
}

/**
 * Where records went that had other numbers before: a file from which lines are missing or were left
 * out gets a new number. Grows with the gaps, not with the file.
 */
export class SeqMap {
  /** From `old` on, the new number is `old - lost`. */
  readonly #steps: { readonly old: number; readonly lost: number }[] = [];
  #last = 0;

  /** Records come in order; an old number that does not rise says nothing. */
  add(old: number, seq: number): void {
    if (old <= this.#last) return;
    this.#last = old;
    const lost = old - seq;
    if ((this.#steps.at(-1)?.lost ?? 0) !== lost) this.#steps.push({ old, lost });
  }

  /** The new number of this record; if it is missing, of the last one before it. */
  of(old: number): number {
    const next = this.#steps.findIndex((step) => step.old > old);
    const step = this.#steps[next === -1 ? this.#steps.length - 1 : next - 1];
    const following = next === -1 ? undefined : this.#steps[next];
    const end = following === undefined ? this.#last : following.old;
    const mapped = Math.min(old, Math.max(end, 0)) - (step?.lost ?? 0);
    const cap = following === undefined ? mapped : following.old - following.lost - 1;
    return Math.max(0, Math.min(mapped, cap));
  }
}
