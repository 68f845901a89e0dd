// What the crash and fault tests do to a storage, and what must hold afterwards.
import assert from "node:assert/strict";
import { isThroughlineError } from "../../src/core/errors.ts";
import type { JsonObject } from "../../src/core/json.ts";
import { silentLogger } from "../../src/core/logger.ts";
import type { Disk } from "../../src/core/storage/disk/disk.ts";
import { FileStorage, type HomeIndex } from "../../src/core/storage/files/file-storage.ts";
import type { OpenLogIndex } from "../../src/core/storage/files/log-index.ts";
import type { LogProjection, StoredRecord } from "../../src/core/storage/log-store.ts";
import type { Durability } from "../../src/core/storage/storage.ts";
import { seededRandom } from "../../src/testing/random.ts";
import { HeldClock } from "./held-clock.ts";
import { HeldTimers } from "./held-timers.ts";
import { homeIndex } from "./memory-index.ts";

export const projection: LogProjection = {
  sortedAt: (head) => String(head["updated_at"] ?? ""),
  labels: () => [],
  text: (record) => (typeof record["content"] === "string" ? record["content"] : undefined),
  hides: () => undefined,
};

// Thousands of failed calls are part of what is done here: their stacks are what costs.
Error.stackTraceLimit = 2;

let opened = 0;

/** A home on any disk, with an index that a death takes with it. Without a boot it is another one each time. */
export async function openOn(
  disk: Disk,
  durability: Durability = "power-cut",
  index: HomeIndex | OpenLogIndex = homeIndex(),
  maxOpen = 256,
  guard: () => void = () => undefined,
  boot?: string,
  segmentBytes = 2_048,
) {
  // Names of temporary files differ from process to process, and repeat from run to run.
  const process = ++opened;
  let ids = 0;
  const clock = Object.assign(new HeldClock(), { bootId: () => boot });
  const timers = new HeldTimers(clock);
  const storage = await FileStorage.open({
    ...{ home: "/home", disk, durability, logger: silentLogger, clock, timers },
    newId: () => `${process}x${++ids}`,
    index: typeof index === "function" ? homeIndex(index) : index,
    ...{ verifyAll: false, maxOpen, segmentBytes },
    directoryChanged: () => undefined,
    guard,
    release: () => undefined,
  });
  return {
    storage,
    logs: storage.logs("chats", projection),
    documents: storage.documents("session"),
    timers,
  };
}

export type Opened = Awaited<ReturnType<typeof openOn>>;

export type Step =
  | { readonly do: "append"; readonly key: string; readonly batch: readonly string[] }
  | { readonly do: "append to both"; readonly a: string; readonly b: string }
  | { readonly do: "erase"; readonly key: string; readonly id: string }
  | { readonly do: "delete"; readonly key: string }
  | { readonly do: "write"; readonly key: string; readonly value: number }
  | { readonly do: "forget document"; readonly key: string }
  | { readonly do: "reopen" };

/** Some steps over two logs and one document; the same for the same seed. */
export function stepsOf(seed: number, count = 5): readonly Step[] {
  const random = seededRandom(seed);
  const steps: Step[] = [];
  const ids: string[] = [];
  const key = () => (random(3) === 0 ? "b" : "a");
  for (let i = 0; i < count; i++) {
    const choice = random(13);
    if (choice === 12) {
      const [a, b] = [`m${seed}-${i}-a`, `m${seed}-${i}-b`];
      ids.push(a, b);
      steps.push({ do: "append to both", a, b });
    } else if (choice < 6 || ids.length === 0) {
      const batch = Array.from({ length: 1 + random(3) }, (_, n) => `m${seed}-${i}-${n}`);
      ids.push(...batch);
      steps.push({ do: "append", key: key(), batch });
    } else if (choice < 8) steps.push({ do: "write", key: "state", value: i });
    else if (choice < 9) {
      steps.push({ do: "erase", key: key(), id: ids[random(ids.length)] ?? "" });
    } else if (choice < 10) steps.push({ do: "delete", key: key() });
    else if (choice < 11) steps.push({ do: "reopen" });
    else steps.push({ do: "forget document", key: "state" });
  }
  return steps;
}

/** The text of a record: long enough to be torn, different for every id. */
export const textOf = (id: string) =>
  `${id} `.repeat(1 + ((id.charCodeAt(id.length - 1) * 7 + id.length) % 5) * 25).trim();

export function recordOf(id: string): { readonly id: string } & JsonObject {
  return { id, content: textOf(id) };
}

/** Runs one step. Resolves once it is stored. */
export async function perform(opened: Opened, step: Step): Promise<void> {
  const { logs, documents } = opened;
  if (step.do === "append") {
    await logs.append(step.key, step.batch.map(recordOf), {
      head: { last: step.batch.at(-1) ?? "" },
    });
  } else if (step.do === "append to both") {
    // All three come in one pass of the event loop: the second and the third share a sync.
    const early = logs.append("a", [recordOf(`${step.a}-1`)]);
    await Promise.all([early, ...splitStep(step).map((each) => perform(opened, each))]);
  } else if (step.do === "erase") await logs.erase(step.key, [step.id]);
  else if (step.do === "delete") await logs.delete(step.key);
  else if (step.do === "write") await documents.write(step.key, { value: step.value });
  else if (step.do === "forget document") await documents.delete(step.key);
}

/** What a log holds: per record its id, and whether its content was erased. */
export type LogModel = readonly { readonly id: string; readonly erased: boolean }[];
export interface Model {
  readonly logs: Readonly<Record<string, LogModel>>;
  readonly document: number | undefined;
}
export const emptyModel: Model = { logs: { a: [], b: [] }, document: undefined };

/** The appends of a step that are made together, each to its own log. */
function splitStep({ a, b }: Step & { readonly do: "append to both" }): readonly Step[] {
  return [
    { do: "append", key: "a", batch: [a] },
    { do: "append", key: "b", batch: [b] },
  ];
}

/** What may be there when a process died in a step, of which nothing or all counts, log by log. */
export function afterDeathIn(model: Model, step: Step | undefined): readonly Model[] {
  if (step === undefined) return [model];
  if (step.do !== "append to both") return [model, after(model, step)];
  const early = after(model, { do: "append", key: "a", batch: [`${step.a}-1`] });
  const [first, second] = splitStep(step);
  if (first === undefined || second === undefined) throw new Error("a step has two appends");
  const states = [model, early, after(early, first)];
  return [...states, ...states.map((state) => after(state, second))];
}

/** What must be there after a step. */
export function after(model: Model, step: Step): Model {
  if (step.do === "append to both") return afterDeathIn(model, step).at(-1) ?? model;
  const put = (key: string, log: LogModel): Model => ({
    ...model,
    logs: { ...model.logs, [key]: log },
  });
  const log = ("key" in step && model.logs[step.key]) || [];
  if (step.do === "append")
    return put(step.key, [...log, ...step.batch.map((id) => ({ id, erased: false }))]);
  if (step.do === "erase") {
    return put(
      step.key,
      log.map((record) => (record.id === step.id ? { ...record, erased: true } : record)),
    );
  }
  if (step.do === "delete") return put(step.key, []);
  if (step.do === "write") return { ...model, document: step.value };
  if (step.do === "forget document") return { ...model, document: undefined };
  return model;
}

/** What is there. */
export async function stateOf({ logs, documents }: Opened): Promise<Model> {
  const found: Record<string, LogModel> = {};
  for (const key of ["a", "b"]) {
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
export async function checkState(
  opened: Opened,
  before: Model,
  underWay: Step | undefined,
): Promise<Model> {
  const found = await stateOf(opened);
  const allowed = afterDeathIn(before, underWay);
  const matches = allowed.some((model) => JSON.stringify(model) === JSON.stringify(found));
  if (!matches) assert.deepEqual(found, before, `left by ${JSON.stringify(underWay)}`);
  return found;
}

/** The same, and then that the storage can be used as if nothing had happened. */
export async function checkLeft(
  opened: Opened,
  before: Model,
  underWay: Step | undefined,
): Promise<void> {
  const found = await checkState(opened, before, underWay);
  for (const key of ["a", "b"]) {
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
