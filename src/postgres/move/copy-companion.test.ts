import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { changed } from "../../../test/support/changed.ts";
import { heldPlace, pass } from "../../../test/support/cluster-world.ts";
import { kept } from "../../../test/support/kept-storage.ts";
import { stoppingStorage } from "../../../test/support/stopping-storage.ts";
import { chatProjection } from "../../core/chat/chat-head.ts";
import { moveUnderWay } from "../../core/chat/move-under-way.ts";
import { damagedFile, hashOf } from "../../core/storage/file-store.ts";
import { frameworkLogs } from "../../core/storage/framework-logs.ts";
import { companionLease } from "../../core/storage/leases.ts";
import { type LogStore, unlisted } from "../../core/storage/log-store.ts";
import { openMemoryStorage } from "../../core/storage/memory/memory-storage.ts";
import type { Storage } from "../../core/storage/storage.ts";
import { openThroughline, type Throughline } from "../../core/throughline.ts";
import { type CopyProgress, copyCompanion } from "./copy-companion.ts";
import { documentPlaces, filePlaces, logPlaces } from "./places.ts";

const conflict = { code: "THROUGHLINE_CONFLICT" } as const;

/** A storage in which chats were said, and the memories on it. */
async function storageWith(t: TestContext, said: Readonly<Record<string, readonly string[]>>) {
  const storage = openMemoryStorage();
  const throughline = await openThroughline({ storage: kept(storage) });
  t.after(() => storage.close());
  for (const [chatId, contents] of Object.entries(said)) await say(throughline, chatId, contents);
  return { storage, throughline };
}

async function say({ chats }: Throughline, chatId: string, contents: readonly string[]) {
  const messages = contents.map((content) => {
    return { id: `${chatId}:${content.slice(0, 9)}`, role: "user" as const, content };
  });
  await chats.append(chatId, messages);
}

const chatLogs = (storage: Storage) => storage.logs("chats", chatProjection);

/** The text that a constant of the sources stands for. */
function nameOf(argument: string): string {
  const quoted = /^"([^"]*)"$/.exec(argument);
  if (quoted !== null) return quoted[1] ?? "";
  const [value] = sourceNames().flatMap((name) => {
    const text = readFileSync(join("src", name), "utf8");
    return new RegExp(`const ${argument} = "([^"]*)"`).exec(text)?.[1] ?? [];
  });
  return value ?? argument;
}

function sourceNames(): readonly string[] {
  return readdirSync("src", { recursive: true, encoding: "utf8" }).filter((name) => {
    const isSource = name.endsWith(".ts") && !name.endsWith(".test.ts");
    return (
      isSource && !/^(testing|core\/storage|postgres|app|cli)\/|\/(commands|checks)\//.test(name)
    );
  });
}

test("every collection that the sources name is copied, or each storage has its own", () => {
  // Adapters name no collection of their own: they take one of this list.
  const named = new Set(frameworkLogs.map(({ collection }) => `logs:${collection}`));
  for (const name of sourceNames()) {
    const text = readFileSync(join("src", name), "utf8");
    for (const [, shape, argument = ""] of text.matchAll(
      /torage\.(logs|documents|files)\(([^,)]*)/g,
    )) {
      // Such as `claudeLogs.collection`.
      if (!/^\w+Logs\.collection$/.test(argument)) named.add(`${shape}:${nameOf(argument)}`);
    }
  }
  const copied = [
    ...logPlaces.map(({ collection }) => `logs:${collection}`),
    ...[...documentPlaces, "forgotten"].map((collection) => `documents:${collection}`),
    ...filePlaces.map((collection) => `files:${collection}`),
  ];
  assert.deepEqual([...named].sort(), copied.sort());
});

for (const [what, fill, names] of [
  [
    "a chat",
    async (target: Storage) => say(await openThroughline({ storage: kept(target) }), "b", ["1"]),
    /it holds chats\/b/,
  ],
  [
    "a mark of a forgotten chat",
    async (target: Storage) => {
      const throughline = await openThroughline({ storage: kept(target) });
      await say(throughline, "b", ["1"]);
      await throughline.chats.forget("b");
    },
    /it holds forgotten\//,
  ],
  [
    "a document",
    (target: Storage) => target.documents("session").write("session", { version: 1 }),
    /it holds session\/session/,
  ],
  [
    "a file",
    (target: Storage) => target.files("chats").put("other", Buffer.from("mine")),
    /it holds the files of chats\/other/,
  ],
  [
    "the whole copy",
    async (target: Storage, source: Storage) => void (await copyCompanion(source, target)),
    /it holds chats\/b/,
  ],
] as const) {
  test(`a target that holds ${what} is refused by name, and nothing is written`, async (t) => {
    const { storage: source } = await storageWith(t, { b: ["1"] });
    const { storage: target } = await storageWith(t, {});
    await fill(target, source);
    const untouched = stoppingStorage(target, { write: 1, when: "before" });
    await assert.rejects(copyCompanion(source, untouched), { ...conflict, message: names });
  });
}

test("a chat that was forgotten at the source is not copied, and may not come back by an import", async (t) => {
  const { storage: source, throughline } = await storageWith(t, { a: ["1"], b: ["2"] });
  await throughline.chats.forget("a");
  const { storage: target } = await storageWith(t, {});
  await copyCompanion(source, target);
  const copied = await openThroughline({ storage: kept(target) });
  assert.equal(await copied.chats.forgottenAt("a"), await throughline.chats.forgottenAt("a"));
  assert.equal(await chatLogs(target).tail("a", 0), undefined);
});

test("until it ends the target says that a move is under way, and nobody begins on a part", async (t) => {
  const { storage: source } = await storageWith(t, {
    a: Array.from({ length: 900 }, (_, index) => `${index}`),
  });
  const { storage: target } = await storageWith(t, {});
  assert.equal(await moveUnderWay(target), undefined);
  // The mark of the move, and the first append of the chat.
  const stopped = stoppingStorage(target, { write: 2, when: "after" });
  await assert.rejects(copyCompanion(source, stopped), { name: "Stopped" });
  assert.match((await moveUnderWay(target)) ?? "", /^\d{4}-/);
  assert.equal((await chatLogs(target).tail("a", 0))?.seq, 256);
  const begunAt = new RegExp(`started at ${await moveUnderWay(target)} .* Run the same copy again`);
  const refused = { ...conflict, message: begunAt };
  await assert.rejects(openThroughline({ storage: kept(target) }), refused);
  assert.equal((await chatLogs(target).tail("a", 0))?.seq, 256, "nothing was touched");
  const report = await copyCompanion(source, target);
  assert.equal(report.records, 900);
  assert.equal(await moveUnderWay(target), undefined);
  const { chats } = await openThroughline({ storage: kept(target) });
  assert.equal((await chats.row("a")).message_count, 900);
});

test("an abort ends it between two appends, and the next call starts over", async (t) => {
  const { storage: source } = await storageWith(t, {
    a: Array.from({ length: 900 }, (_, index) => `${index}`),
  });
  const { storage: target } = await storageWith(t, {});
  const stop = new AbortController();
  const onProgress = ({ records }: CopyProgress) => records >= 512 && stop.abort(new Error("stop"));
  const options = {
    signal: stop.signal,
    onProgress: (each: CopyProgress) => void onProgress(each),
  };
  await assert.rejects(copyCompanion(source, target, options), { message: "stop" });
  assert.equal((await chatLogs(target).tail("a", 0))?.seq, 512);
  const report = await copyCompanion(source, target);
  assert.equal(report.records, 900);
});

test("progress counts logs and records", async (t) => {
  const { storage: source } = await storageWith(t, { a: ["1"], b: ["1"] });
  const { storage: target } = await storageWith(t, {});
  const shown: string[] = [];
  const onProgress = ({ logs, of, records }: CopyProgress) =>
    void shown.push(`${logs}/${of} ${records}`);
  await copyCompanion(source, target, { onProgress });
  assert.equal(shown.at(-1), "2/2 2");
  assert.deepEqual(shown.toSorted(), ["1/2 0", "2/2 0", "2/2 1", "2/2 2"]);
});

test("a companion that a server runs is not copied, from either side", async (t) => {
  const { storage } = await storageWith(t, { a: ["1"] });
  const { cluster } = heldPlace().open().storage;
  assert.equal(cluster.isShared, true);
  for (const which of ["source", "target"] as const) {
    const place = heldPlace();
    const server = place.open().storage;
    server.cluster.subscribe(({ about, say }) => {
      if (say === "who") server.cluster.publish({ about: about ?? "", say: "up" });
    });
    const shared = place.open().storage;
    const copy =
      which === "source" ? copyCompanion(shared, storage) : copyCompanion(storage, shared);
    const message = `a server runs this companion on the ${which}: stop it first`;
    await assert.rejects(copy, { code: "THROUGHLINE_LOCKED", message });
    const lease = await server.leases.tryAcquire(companionLease);
    assert.notEqual(lease, undefined, "a server may start");
  }
});

for (const [what, keepsMs, isCopied] of [
  ["was killed is waited for, until that one is taken for dead after 5 s", 0, true],
  ["goes on refuses it after 7 s", 60_000, false],
] as const) {
  test(`the lease of a copy that ${what}`, async (t) => {
    const { storage: source } = await storageWith(t, { a: ["1"] });
    const place = heldPlace();
    const other = place.open();
    await other.storage.leases.acquire(companionLease);
    const { storage: target, timers } = place.open();
    let ended = false;
    const copy = copyCompanion(source, target, { timers });
    void copy.catch(() => undefined).then(() => (ended = true));
    const begun = place.clock.monotonic();
    while (!ended) {
      const passed = place.clock.monotonic() - begun;
      await pass(place.clock, 500, timers, ...(passed < keepsMs ? [other.timers] : []));
    }
    if (isCopied) assert.equal((await copy).records, 1);
    else await assert.rejects(copy, { code: "THROUGHLINE_LOCKED" });
    assert.equal(timers.count, 1, "the heartbeat of its process alone");
  });
}

/** The same storage, whose logs answer otherwise. */
function withLogs(storage: Storage, otherwise: (store: LogStore) => Partial<LogStore>): Storage {
  const logs: Storage["logs"] = (collection, projection) => {
    const store = storage.logs(collection, projection);
    return changed(store, otherwise(store));
  };
  return { ...kept(storage), logs };
}

/** A log store that lost a record, as a damaged file does. */
const without = (storage: Storage, seq: number) =>
  withLogs(storage, (store) => ({
    async *read(...args) {
      for await (const record of store.read(...args)) if (record.seq !== seq) yield record;
    },
  }));

for (const seq of [1, 2, 3]) {
  test(`a chat whose record ${seq} is lost refuses the copy, unless a mark may stand in its place`, async (t) => {
    const { storage } = await storageWith(t, { a: ["1", "2", "3"] });
    const damaged = without(storage, seq);
    const { storage: target } = await storageWith(t, {});
    const refused = { code: "THROUGHLINE_CORRUPT", message: new RegExp(`chats/a .* ${seq} `) };
    await assert.rejects(copyCompanion(damaged, target), refused);
    const report = await copyCompanion(damaged, target, { damaged: "mark" });
    assert.equal(report.records, 3);
    const records = await chatLogs(target).page("a", { after: 0, limit: 9 });
    assert.deepEqual(
      records.map(({ id, seq: number }) => [id === `lost:${number}`, number]),
      [1, 2, 3].map((number) => [number === seq, number]),
    );
  });
}

test("a chat of which nothing can be read refuses the copy, or is left out of it", async (t) => {
  const { storage } = await storageWith(t, { a: ["1", "2"], b: ["1"] });
  const none = { seq: 0, head: {}, records: [], damaged: true };
  const damaged = withLogs(storage, (store) => ({
    tail: async (key, count) => (key === "a" ? none : store.tail(key, count)),
    async *read(key, options) {
      if (key !== "a") yield* store.read(key, options);
    },
  }));
  const { storage: target } = await storageWith(t, {});
  const refused = { code: "THROUGHLINE_CORRUPT", message: /^chats\/a is damaged: nothing / };
  await assert.rejects(copyCompanion(damaged, target), refused);
  // What an earlier copy brought, before the damage.
  await chatLogs(target).append("a", [{ id: "old", kind: "old" }]);
  const report = await copyCompanion(damaged, target, { damaged: "mark" });
  assert.equal(report.records, 1);
  assert.equal(await chatLogs(target).tail("a", 0), undefined);
  assert.equal((await chatLogs(target).tail("b", 0))?.seq, 1);
});

test("what is written to the source during the copy is noticed", async (t) => {
  const { storage: source, throughline } = await storageWith(t, { a: ["1"] });
  const { storage: target } = await storageWith(t, {});
  let written: Promise<void> | undefined;
  const onProgress = () => {
    written ??= say(throughline, "a", ["2"]);
  };
  const first = await copyCompanion(source, target, { onProgress }).catch((error) => error);
  await written;
  if (first.records !== 2) {
    assert.equal(first.code, "THROUGHLINE_CONFLICT");
    await copyCompanion(source, target);
  }
  assert.deepEqual(await chatLogs(target).tail("a", 9), await chatLogs(source).tail("a", 9));
});

test("the log of moves stays with its storage", async (t) => {
  const { storage: source } = await storageWith(t, { a: ["1"] });
  const { storage: middle } = await storageWith(t, {});
  const { storage: target } = await storageWith(t, {});
  await copyCompanion(source, middle);
  await copyCompanion(middle, target);
  const moves = target.logs("", unlisted);
  const kinds = (await moves.page("moves", { after: 0, limit: 9 })).map(({ kind }) => kind);
  assert.deepEqual(kinds, ["move_begun", "move_done"]);
  assert.equal(await source.logs("", unlisted).tail("moves", 0), undefined);
});

test("an abort ends the waiting for a lease at once", { timeout: 10_000 }, async (t) => {
  const { storage: source } = await storageWith(t, {});
  const place = heldPlace();
  await place.open().storage.leases.acquire(companionLease);
  const { storage: target, timers } = place.open();
  const stop = new AbortController();
  const copy = copyCompanion(source, target, { timers, signal: stop.signal });
  setImmediate(() => stop.abort(new Error("stop")));
  await assert.rejects(copy, { message: "stop" });
});

/** The same storage, in which one file is damaged. */
function damagedIn(storage: Storage, damaged: string): Storage {
  const files: Storage["files"] = (collection) => {
    const store = storage.files(collection);
    return changed(store, {
      get: async (key, hash) => {
        if (hash === damaged) throw damagedFile(key, hash);
        return store.get(key, hash);
      },
    });
  };
  return { ...kept(storage), files };
}

test("a damaged file refuses the copy, or is left out where damage is to be passed over", async (t) => {
  const { storage, throughline } = await storageWith(t, { a: ["1"] });
  const { files } = throughline.chats;
  await files.put("a", Buffer.from("one"));
  const source = damagedIn(storage, await files.put("a", Buffer.from("two")));
  const { storage: target } = await storageWith(t, {});
  await assert.rejects(copyCompanion(source, target), { code: "THROUGHLINE_CORRUPT" });
  assert.equal((await copyCompanion(source, target, { damaged: "mark" })).files, 1);
  const copied = await target.files("chats").list("a");
  assert.deepEqual(
    copied.map(({ sha256 }) => sha256),
    [hashOf(Buffer.from("one"))],
  );
});
