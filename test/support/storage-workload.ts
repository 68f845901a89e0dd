// What the crash and fault tests do to a storage, and what must hold afterwards.
import assert from "node:assert/strict";
import { isThroughlineError } from "../../src/core/errors.ts";
import type { JsonObject } from "../../src/core/json.ts";
import { silentLogger } from "../../src/core/logger.ts";
import type { Disk } from "../../src/core/storage/disk/disk.ts";
import { FileStorage } from "../../src/core/storage/files/file-storage.ts";
import type { FileIndex } from "../../src/core/storage/files/index.ts";
import type { LogProjection, StoredRecord } from "../../src/core/storage/log-store.ts";
import type { Durability } from "../../src/core/storage/storage.ts";
import { seededRandom } from "../../src/testing/random.ts";
import { HeldClock } from "./held-clock.ts";
import { HeldTimers } from "./held-timers.ts";
import { indexOn } from "./simulated-index.ts";

export const projection: LogProjection = {
  sortedAt: (head) => String(head["updated_at"] ?? ""),
  labels: () => [],
  text: (record) => (typeof record["content"] === "string" ? record["content"] : undefined),
  hides: () => undefined,
};

// Thousands of failed calls are part of what is done here: their stacks are what costs.
Error.stackTraceLimit = 2;

let opened = 0;

interface OpenOnOptions {
  readonly durability?: Durability;
  /** Changes the index before it is used. */
  readonly prepare?: ((index: FileIndex) => void) | undefined;
  readonly maxOpen?: number;
  readonly segmentBytes?: number;
  /** The file of the index. Default: it is in memory, and a death takes it. */
  readonly indexPath?: string | undefined;
}

/** Opens a home on any disk. */
export async function openOn(disk: Disk, options: OpenOnOptions = {}) {
  const { durability = "power-cut", maxOpen = 256, segmentBytes = 2_048 } = options;
  // Names of temporary files differ from process to process, and repeat from run to run.
  const process = ++opened;
  let ids = 0;
  const clock = new HeldClock();
  const timers = new HeldTimers(clock);
  const index = indexOn(disk, { timers }, options.indexPath);
  options.prepare?.(index);
  const storage = await FileStorage.open({
    ...{ home: "/home", disk, durability, logger: silentLogger, clock, timers },
    newId: () => `${process}x${++ids}`,
    ...{ index, maxOpen, segmentBytes },
    directoryChanged: () => undefined,
    guard: () => undefined,
    release: () => index.close(),
  });
  return {
    storage,
    index,
    logs: storage.logs("chats", projection),
    documents: storage.documents("session"),
    timers,
  };
}

export type Opened = Awaited<ReturnType<typeof openOn>>;

/** What is done to one log. */
export type Act =
  | { readonly do: "append"; readonly key: string; readonly batch: readonly string[] }
  | { readonly do: "erase"; readonly key: string; readonly id: string }
  | { readonly do: "delete"; readonly key: string };

/** What is done at once. */
export type SingleAct =
  | Act
  | { readonly do: "write"; readonly key: string; readonly value: number }
  | { readonly do: "forget document"; readonly key: string };

export type Step =
  | SingleAct
  /**
   * All begun in one pass of the event loop. Each queue is of one log, whose acts are done in order: each is
   * begun so many microtasks after the one before it, while that is at any point of its way to the disk.
   */
  | {
      readonly do: "together";
      readonly queues: readonly (readonly Act[])[];
      readonly apart?: number;
    }
  | { readonly do: "reopen" };

export function actsOf(step: Step): readonly SingleAct[] {
  if (step.do === "together") return step.queues.flat();
  return step.do === "reopen" ? [] : [step];
}

export const keys = ["a", "b", "c"] as const;

/**
 * Some steps over three logs and one document; the same for the same seed. Of those that are done together
 * some empty the journal twice at once while another log is appended to, and some delete a log between two
 * appends to it.
 */
export function stepsOf(seed: number, count = 5): readonly Step[] {
  const random = seededRandom(seed);
  const steps: Step[] = [];
  const idsIn: Record<string, string[]> = {};
  let appended = 0;
  const append = (key: string): Act => {
    const nth = appended++;
    const batch = Array.from({ length: 1 + random(3) }, (_, n) => `m${seed}-${nth}-${n}`);
    idsIn[key] = [...(idsIn[key] ?? []), ...batch];
    return { do: "append", key, batch };
  };
  const forget = (key: string): Act => {
    const ids = idsIn[key] ?? [];
    const id = ids[random(ids.length + 1)];
    return id === undefined || random(2) === 0 ? { do: "delete", key } : { do: "erase", key, id };
  };
  const some = (key: string, most: number) =>
    Array.from({ length: 1 + random(most) }, () => append(key));
  for (let i = 0; i < count; i++) {
    const key = keys[Math.max(0, random(5) - 2)] ?? "a";
    const choice = appended === 0 ? 0 : random(16);
    if (choice < 5) steps.push(append(key));
    else if (choice < 7) steps.push({ do: "write", key: "state", value: i });
    else if (choice < 9) steps.push(forget(key));
    else if (choice < 10) steps.push({ do: "reopen" });
    else if (choice < 11) steps.push({ do: "forget document", key: "state" });
    else if (choice < 13) {
      steps.push({ do: "together", queues: [some("a", 5), some("b", 2)], apart: random(32) });
    } else if (choice < 14) {
      steps.push({ do: "together", queues: [[append(key), forget(key), append(key)]] });
    } else {
      const queues = [some("a", 4), [forget("b"), append("b")], [append("c"), forget("c")]];
      steps.push({ do: "together", queues });
    }
  }
  return steps;
}

/** The text of a record: long enough to be torn, different for every id. */
export const textOf = (id: string) =>
  `${id} `.repeat(1 + ((id.charCodeAt(id.length - 1) * 7 + id.length) % 5) * 25).trim();

export function recordOf(id: string): { readonly id: string } & JsonObject {
  return { id, content: textOf(id) };
}

/** Does one act. Resolves once it is stored. */
export async function perform({ logs, documents }: Opened, act: SingleAct): Promise<void> {
  if (act.do === "append") {
    const head = { last: act.batch.at(-1) ?? "" };
    await logs.append(act.key, act.batch.map(recordOf), { head });
  } else if (act.do === "erase") await logs.erase(act.key, [act.id]);
  else if (act.do === "delete") await logs.delete(act.key);
  else if (act.do === "write") await documents.write(act.key, { value: act.value });
  else await documents.delete(act.key);
}

/** What a log holds: per record its id, and whether its content was erased. */
export type LogModel = readonly { readonly id: string; readonly erased: boolean }[];
interface Model {
  readonly logs: Readonly<Record<string, LogModel>>;
  readonly document: number | undefined;
}
/** What may be in a log, or in the document. */
export interface Allowed {
  readonly logs: Readonly<Record<string, readonly LogModel[]>>;
  readonly documents: readonly (number | undefined)[];
}

export function logAfter(log: LogModel, act: Act): LogModel {
  if (act.do === "append") return [...log, ...act.batch.map((id) => ({ id, erased: false }))];
  if (act.do === "delete") return [];
  return log.map((record) => (record.id === act.id ? { ...record, erased: true } : record));
}

/** Bytes that are wherever the words of a record are. */
export const wordsOf = (id: string) => Buffer.from(`${id} ${id}`);

/** What is there. */
export async function stateOf({ logs, documents }: Opened): Promise<Model> {
  const found: Record<string, LogModel> = {};
  for (const key of keys) {
    const records = await Array.fromAsync(logs.read(key));
    assert.deepEqual(
      records.map(({ seq }) => seq),
      records.map((_, i) => i + 1),
      `numbers of ${key}`,
    );
    for (const record of records) assertWhole(record);
    const tail = await logs.tail(key, 1_000);
    assert.deepEqual(
      tail?.records ?? [],
      records,
      `the tail of ${key} is what is read from its start`,
    );
    found[key] = records.map((record) => ({ id: record.id, erased: record["kind"] === "erased" }));
  }
  const document = await documents.read("state");
  return { logs: found, document: document?.value["value"] as number | undefined };
}

function assertWhole(record: StoredRecord): void {
  if (record["kind"] === "erased")
    assert.deepEqual(Object.keys(record), ["id", "seq", "_type", "kind"]);
  else assert.equal(record["content"], textOf(record.id), "no record is half, none is invented");
}

/** Checks what a death left: what was promised, and of the step under way all or nothing. */
export async function checkState(opened: Opened, allowed: Allowed): Promise<Model> {
  const found = await stateOf(opened);
  for (const [key, log] of Object.entries(found.logs)) {
    const states = allowed.logs[key] ?? [];
    if (!states.some((state) => isSame(state, log))) assert.deepEqual(log, states[0], key);
  }
  assert.ok(allowed.documents.includes(found.document), `the document has ${found.document}`);
  return found;
}

const isSame = (one: LogModel, other: LogModel) =>
  one.length === other.length &&
  one.every(({ id, erased }, i) => id === other[i]?.id && erased === other[i]?.erased);

/** The same, and then that the storage can be used as if nothing had happened. */
export async function checkLeft(opened: Opened, allowed: Allowed): Promise<void> {
  const found = await checkState(opened, allowed);
  for (const key of keys) {
    const log = found.logs[key] ?? [];
    assert.equal(await opened.logs.append(key, [recordOf("later")]), log.length + 1);
    assert.equal(await opened.logs.append(key, [recordOf("later")]), log.length + 1);
    const first = log.find(({ erased }) => !erased);
    if (first !== undefined) await opened.logs.append(key, [recordOf(first.id)]);
    assert.deepEqual((await stateOf(opened)).logs[key], [...log, { id: "later", erased: false }]);
  }
  await opened.documents.write("state", { value: 99 });
  assert.equal((await opened.documents.read("state"))?.value["value"], 99);
}

export const isRefusal = (error: unknown) =>
  isThroughlineError(error, "THROUGHLINE_UNAVAILABLE") ||
  isThroughlineError(error, "THROUGHLINE_CONFIGURATION");
