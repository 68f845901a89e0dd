import { hashOf } from "../../core/chat/tombstones.ts";
import type { LogRecord } from "../../core/storage/log-store.ts";
import type { Storage } from "../../core/storage/storage.ts";
import { append } from "./copy-log.ts";
import { everyLog } from "./every-log.ts";
import { marksPlace } from "./places.ts";
import { unnumbered } from "./records.ts";

const batchRecords = 256;

/** Which chats one of the two storages knows to be forgotten and the other does not. */
export interface NewMarks {
  /** Forgotten at the source: the copy of such a chat is older than that, and goes. */
  isForgottenAtSource(chatId: string): boolean;
  /** Forgotten at the target: such a chat is not brought back. */
  isForgottenAtTarget(chatId: string): boolean;
}

export async function newMarks(from: Storage, to: Storage): Promise<NewMarks> {
  const source = await marksOf(from);
  const target = await marksOf(to);
  const onlyIn = (a: Marks, b: Marks) =>
    new Set([...a].flatMap(([id, hash]) => (b.has(id) ? [] : [hash])));
  const atSource = onlyIn(source, target);
  const atTarget = onlyIn(target, source);
  return {
    isForgottenAtSource: (chatId) => atSource.size > 0 && atSource.has(hashOf(chatId)),
    isForgottenAtTarget: (chatId) => atTarget.size > 0 && atTarget.has(hashOf(chatId)),
  };
}

/** The hash of a forgotten chat by the id of its mark. */
type Marks = ReadonlyMap<string, string>;

async function marksOf(storage: Storage): Promise<Marks> {
  const marks = new Map<string, string>();
  for await (const { logs, row } of everyLog(storage, [marksPlace])) {
    for await (const { id, hash } of logs.read(row.key)) marks.set(`${row.key}/${id}`, `${hash}`);
  }
  return marks;
}

/** Adds the marks that the target does not have; the others stay. Harmless when it is repeated. */
export async function joinMarks(from: Storage, to: Storage): Promise<void> {
  const batches = new Map<string, LogRecord[]>();
  const target = to.logs(marksPlace.collection, marksPlace.projection);
  for await (const { key, mark } of missingMarks(from, to)) {
    const batch = batches.get(key) ?? [];
    batch.push(mark);
    batches.set(key, batch);
    if (batch.length >= batchRecords) await append(target, key, batch.splice(0));
  }
  for (const [key, batch] of batches) if (batch.length > 0) await append(target, key, batch);
}

/** Marks of the source that the target does not have as they are, in their order. */
export async function* missingMarks(
  from: Storage,
  to: Storage,
): AsyncGenerator<{ readonly key: string; readonly mark: LogRecord }> {
  const target = to.logs(marksPlace.collection, marksPlace.projection);
  for await (const { logs, row } of everyLog(from, [marksPlace])) {
    for await (const record of logs.read(row.key)) {
      const mark = unnumbered(record);
      const found = await target.find(row.key, mark.id);
      const isThere =
        found !== undefined && JSON.stringify(unnumbered(found)) === JSON.stringify(mark);
      if (!isThere) yield { key: row.key, mark };
    }
  }
}
