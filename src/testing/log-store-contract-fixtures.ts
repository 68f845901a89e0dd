import assert from "node:assert/strict";
import { type ErrorCode, isThroughlineError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import type {
  LogProjection,
  LogRecord,
  LogStore,
  StoredRecord,
} from "../core/storage/log-store.ts";
import type { Storage } from "../core/storage/storage.ts";
import type { Clause, Open } from "./contract.ts";

/** The key that a clause uses when it needs only one. */
export const chat = "telegram:42";

/** How the contract reads its own records: heads have `updated_at` and `labels`. */
export const contractProjection: LogProjection = {
  sortedAt: (head) => String(head["updated_at"] ?? ""),
  labels(head) {
    const labels = head["labels"];
    if (!Array.isArray(labels)) return [];
    return labels.filter((label: unknown) => typeof label === "string");
  },
  text: (record) => (typeof record["content"] === "string" ? record["content"] : undefined),
  hides(record) {
    const target = record["kind"] === "removal" ? record["target"] : undefined;
    return typeof target === "string" ? target : undefined;
  },
};

/** A proof about one fresh collection of logs. */
export function withLogs(
  proof: (log: LogStore, storage: Storage) => Promise<void>,
): Clause["proof"] {
  return async (open: Open) => {
    await using storage = await open();
    await proof(logsOf(storage), storage);
  };
}

/** A proof that stores something, closes the storage, and looks at what the next opening finds. */
export function acrossReopening(
  before: (log: LogStore, storage: Storage) => Promise<void>,
  after: (log: LogStore, storage: Storage) => Promise<void>,
): Pick<Clause, "reopens" | "proof"> {
  return {
    reopens: true,
    async proof(open, reopen) {
      await using storage = await open();
      await before(logsOf(storage), storage);
      await using again = await reopen(storage);
      await after(logsOf(again), again);
    },
  };
}

export function logsOf(storage: Storage, collection = "chats"): LogStore {
  return storage.logs(collection, contractProjection);
}

export function message(id: string, content = `what ${id} says`, more: JsonObject = {}): LogRecord {
  return { id, role: "user", content, ...more };
}

/** `m1`, `m2` and so on: messages from `first` to `last`. */
export function messages(first: number, last: number): LogRecord[] {
  return Array.from({ length: last - first + 1 }, (_, index) => message(`m${first + index}`));
}

export function removal(id: string, target: string): LogRecord {
  return { id, _type: "metadata", kind: "removal", target };
}

/** What a record that was erased reads back as. */
export function erased(id: string, seq: number): StoredRecord {
  return { id, seq, _type: "metadata", kind: "erased" };
}

/** These records as a log that began with them holds them. */
export function numbered(records: readonly LogRecord[], first = 1): StoredRecord[] {
  return records.map((record, index) => ({ ...record, seq: first + index }));
}

/** A message whose JSON text has exactly so many bytes. */
export function messageOfBytes(id: string, bytes: number): LogRecord {
  const empty = Buffer.byteLength(JSON.stringify(message(id, "")));
  return message(id, "x".repeat(bytes - empty));
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** Every record of a log, oldest first. */
export function everything(log: LogStore, key = chat): Promise<StoredRecord[]> {
  return collect(log.read(key));
}

export async function idsIn(log: LogStore, key = chat): Promise<string[]> {
  return (await everything(log, key)).map((record) => record.id);
}

/** The ids of the records that a query finds, in the order of the hits. */
export async function found(log: LogStore, query: string, key?: string): Promise<string[]> {
  const hits = await log.search(query, { limit: 100, key });
  return hits.map((hit) => hit.record.id);
}

/** The keys of all logs, as a list pages through them. */
export async function listed(log: LogStore, label?: string): Promise<string[]> {
  const page = await log.list({ limit: 1_000, label });
  return page.rows.map((row) => row.key);
}

/** Asserts that a call rejects with this code. */
export async function refuses(code: ErrorCode, call: Promise<unknown>): Promise<void> {
  await assert.rejects(call, (error: unknown) => {
    assert.ok(isThroughlineError(error, code), `rejects with ${code}, not with ${String(error)}`);
    return true;
  });
}

/** Asserts that nothing of a log is there: not in the log, not in the list. */
export async function isAbsent(log: LogStore, key = chat): Promise<void> {
  assert.equal(await log.tail(key, 1), undefined);
  assert.deepEqual(await everything(log, key), []);
  assert.equal((await listed(log)).includes(key), false);
}

/** Changes a value in depth as far as it lets itself be changed: a frozen one does not. */
export function scribbleOn(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  for (const [key, item] of Object.entries(value)) {
    scribbleOn(item);
    // A number stays one: a bound that is no number may hide what was changed.
    Reflect.set(value, key, typeof item === "number" ? item + 1 : "scribbled");
  }
  Reflect.set(value, "added", "scribbled");
}

/** For a call with arguments that the types refuse, as a caller without types makes it. */
export function untyped<T>(value: unknown): T {
  return value as T;
}

/** 1 to `count`. */
export function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

/** What the calls that were not refused answered; the codes of those that were. */
export async function outcomesOf<T>(
  calls: readonly Promise<T>[],
): Promise<{ readonly answers: T[]; readonly codes: unknown[] }> {
  const answers: T[] = [];
  const codes: unknown[] = [];
  for (const outcome of await Promise.allSettled(calls)) {
    if (outcome.status === "fulfilled") answers.push(outcome.value);
    else codes.push((outcome.reason as { readonly code?: unknown }).code);
  }
  return { answers, codes };
}

/** Tries again for as long as other writers are faster. */
export async function untilNoConflict(attempt: () => Promise<void>): Promise<void> {
  for (let times = 0; times < 200; times++) {
    try {
      await attempt();
      return;
    } catch (error) {
      if (!isThroughlineError(error, "THROUGHLINE_CONFLICT")) throw error;
    }
  }
  assert.fail("one call was a conflict 200 times");
}
