import assert from "node:assert/strict";
import { test } from "node:test";
import { changed } from "../../../test/support/changed.ts";
import { foldSessionSummary } from "../../../test/support/claude-fold.ts";
import { column, columns } from "../../../test/support/columns.ts";
import { temporaryDirectory } from "../../../test/support/command-line.ts";
import { HeldClock } from "../../../test/support/held-clock.ts";
import { kept } from "../../../test/support/kept-storage.ts";
import { killed } from "../../../test/support/killed.ts";
import { randomText } from "../../../test/support/random-text.ts";
import { Stopped, stoppingStorage } from "../../../test/support/stopping-storage.ts";
import { frameworkProjection } from "../../core/storage/framework-logs.ts";
import { openMemoryStorage } from "../../core/storage/memory/memory-storage.ts";
import type { Storage } from "../../core/storage/storage.ts";
import { openThroughline, type Throughline } from "../../core/throughline.ts";
import {
  type SessionStoreEntry,
  ThroughlineSessionStore,
  type ThroughlineSessionStoreOptions,
} from "./session-store.ts";

function storeOn(
  throughline: Pick<Throughline, "storage" | "ports">,
  options: ThroughlineSessionStoreOptions = { foldSessionSummary },
): ThroughlineSessionStore {
  return new ThroughlineSessionStore(throughline, options);
}

const key = { projectKey: "-home-me-app", sessionId: "6b1f8a52-77d3-4c1e-9c7e-0d9f0a1b2c3d" };
const entry = (n: number | string, more: object = {}): SessionStoreEntry => ({
  type: "user",
  uuid: `uuid-${n}`,
  ...more,
});
const numbered = (count: number) => Array.from({ length: count }, (_, n) => entry(n, { n }));

/** A test with a store of its own, in memory: what storages promise alike is in their contract. */
function storeTest(
  says: string,
  body: (store: ThroughlineSessionStore, throughline: Throughline) => Promise<void>,
): void {
  test(says, async () => {
    await using throughline = await openThroughline({ storage: "memory" });
    await body(storeOn(throughline), throughline);
  });
}

storeTest(
  "entries come back equal and in the order of the calls; what was never written is null",
  async (store) => {
    await store.append(key, []);
    assert.equal(await store.load(key), null);
    assert.equal(await store.load({ ...key, subpath: "subagents/a" }), null);
    assert.deepEqual(await store.listSessions(key.projectKey), []);
    await store.delete(key);
    const entries = numbered(7);
    const calls = [entries.slice(0, 2), entries.slice(2, 3), [], entries.slice(3)];
    await Promise.all(calls.map((each) => store.append(key, each)));
    assert.deepEqual(await store.load(key), entries);
  },
);

storeTest(
  "an entry with a known uuid is passed over, one without is added again",
  async (store) => {
    const odd = ["", "a b", "\0", "\ud800", "ü".repeat(900), "~", "x".repeat(129)];
    const others = odd.map((uuid) => ({ type: "odd", uuid }));
    const entries = [entry(1, { n: 1 }), { type: "title" }, ...others];
    await store.append(key, [...entries, entry(1, { n: 2 })]);
    assert.deepEqual(await store.load(key), entries);
    await store.append(key, [entry(1, { n: 3 }), entry(2), ...entries]);
    const again = [entry(2), { type: "title" }, { type: "odd", uuid: "" }];
    assert.deepEqual(await store.load(key), [...entries, ...again]);
    const { data } = (await store.listSessionSummaries(key.projectKey))[0] ?? {};
    assert.equal(data?.["count"], entries.length + again.length);
  },
);

storeTest("transcripts of other projects, sessions and subpaths are apart", async (store) => {
  const keys = [
    { projectKey: "a", sessionId: "b" },
    { projectKey: "a", sessionId: "b", subpath: "c" },
    { projectKey: "a", sessionId: "b", subpath: "c/d" },
    { projectKey: "b", sessionId: "a" },
    { projectKey: "a/c", sessionId: "b" },
    { projectKey: "a%2Fc", sessionId: "b" },
    { projectKey: "c", sessionId: "b/a" },
    { projectKey: "a", sessionId: "B" },
    { projectKey: "__proto__", sessionId: ".." },
  ];
  for (const [n, each] of keys.entries()) await store.append(each, [entry("same", { n })]);
  for (const [n, each] of keys.entries()) {
    assert.deepEqual(await store.load(each), [entry("same", { n })]);
  }
  const subpaths = await store.listSubkeys({ projectKey: "a", sessionId: "b" });
  assert.deepEqual(subpaths.sort(), ["c", "c/d"]);
  const sessions = await store.listSessions("a");
  assert.deepEqual(sessions.map(({ sessionId }) => sessionId).sort(), ["B", "b"]);
  assert.deepEqual(column(await store.listSessions("a/c"), "sessionId"), ["b"]);
  assert.deepEqual(await store.listSessions("A"), []);
});

storeTest(
  "content of every kind and size is kept, what is not JSON as its JSON text",
  async (store) => {
    let deep: unknown = "end";
    for (let level = 0; level < 200; level++) deep = { deep };
    const many = Object.fromEntries(Array.from({ length: 12_000 }, (_, n) => [`k${n}`, n]));
    const proto = JSON.parse('{"type":"x","__proto__":{"a":1}}') as SessionStoreEntry;
    const entries = [
      entry("large", { image: randomText(1_300_000) }), // more than a record holds
      entry("deep", { deep }),
      entry("many", { many }),
      entry("numbers", {
        numbers: [-0, Number.NaN, 1e300, 2 ** 53 + 2, 0.1],
        bytes: new Uint8Array([1, 255]),
      }),
      entry("texts", {
        "~": "object",
        text: "\u2028 \0 \ud800 \u{1f600}",
        empty: [{}, [], "", null],
      }),
      proto,
    ];
    await store.append(key, entries);
    await store.append(key, entries.slice(0, -1));
    const at = new Date(0);
    await store.append(key, [entry(1, { at, call: () => 1 })]);
    assert.deepEqual(await store.load(key), [...entries, entry(1, { at: at.toISOString() })]);
  },
);

storeTest("a batch of any length is stored in order", async (store) => {
  for (const [count, length] of [
    [1_201, 10],
    [24, 100_000],
  ] as const) {
    const own = { projectKey: `${count}`, sessionId: "s" };
    const entries = numbered(count).map((each) => ({ ...each, text: randomText(length) }));
    await store.append(own, entries);
    await store.append(own, entries.slice(10));
    assert.deepEqual(await store.load(own), entries);
    const [summary] = await store.listSessionSummaries(own.projectKey);
    assert.deepEqual(summary?.data, { count, first: "user", last: "user" });
  }
});

storeTest("deleting a session takes its subpaths along, and nothing else", async (store) => {
  const others = [
    { ...key, sessionId: "other" },
    { ...key, projectKey: "other" },
    { ...key, sessionId: "other", subpath: "a" },
  ];
  const subpaths = ["a", "b/c", "d"].map((subpath) => ({ ...key, subpath }));
  for (const each of [key, ...subpaths, ...others]) await store.append(each, [entry(1)]);
  await store.delete({ ...key, subpath: "d" });
  assert.deepEqual(await store.load({ ...key, subpath: "d" }), null);
  assert.deepEqual(await store.load({ ...key, subpath: "a" }), [entry(1)]);
  await store.delete(key);
  for (const each of [key, ...subpaths]) assert.equal(await store.load(each), null);
  assert.deepEqual(await store.listSubkeys(key), []);
  for (const each of others) assert.deepEqual(await store.load(each), [entry(1)]);
  await store.append(key, [entry(1, { n: 2 })]);
  assert.deepEqual(await store.load(key), [entry(1, { n: 2 })]);
});

storeTest("two stores that write one session lose and double nothing", async (one, throughline) => {
  const two = storeOn(throughline);
  const calls = Array.from({ length: 25 }, (_, n) =>
    [one, two].map((store, which) =>
      // The entry that both have differs: the first one stays.
      store.append(key, [entry(`${which}-${n}`, { which, n }), entry(`both-${n}`, { which })]),
    ),
  );
  await Promise.all(calls.flat());
  const loaded = (await one.load(key)) ?? [];
  assert.equal(new Set(loaded.map(({ uuid }) => uuid)).size, 75);
  assert.equal(loaded.length, 75);
  for (const which of [0, 1]) {
    const own = loaded.filter(({ uuid }) => uuid?.startsWith(`uuid-${which}-`));
    const all = Array.from({ length: 25 }, (_, n) => n);
    assert.deepEqual(column(own, "n"), all);
  }
  const [summary] = await one.listSessionSummaries(key.projectKey);
  assert.equal(summary?.data["count"], 75);
});

test("mtime is whole milliseconds of the store's clock, the same in both lists, and never goes back", async () => {
  const clock = new HeldClock("2026-03-01T12:00:00.000Z");
  await using throughline = await openThroughline({ storage: "memory", clock });
  const store = storeOn(throughline);
  const mtimes = async () => {
    const [session] = await store.listSessions(key.projectKey);
    const [summary] = await store.listSessionSummaries(key.projectKey);
    assert.equal(session?.mtime, summary?.mtime);
    return session?.mtime;
  };
  const start = Date.parse("2026-03-01T12:00:00.000Z");
  await store.append(key, [entry(1, { timestamp: "2020-01-01T00:00:00.000Z" })]);
  assert.equal(await mtimes(), start);
  clock.pass(7.75);
  await store.append(key, [entry(2)]);
  assert.equal(await mtimes(), start + 7);
  clock.pass(10);
  await store.append(key, [entry(2)]);
  await store.append({ ...key, subpath: "a" }, [entry(3)]);
  assert.equal(await mtimes(), start + 7, "nothing was added to the session itself");
  clock.set("2026-02-01T00:00:00.000Z");
  await store.append(key, [entry(4)]);
  assert.equal(await mtimes(), start + 7);
});

test("the summary is folded from what is new, with what it was before, and not for subpaths", async () => {
  const clock = new HeldClock();
  clock.pass(0.5);
  await using throughline = await openThroughline({ storage: "memory", clock });
  const seen: unknown[] = [];
  const store = storeOn(throughline, {
    foldSessionSummary: (previous, of, entries, options) => {
      seen.push([previous?.data, of, entries.map(({ uuid }) => uuid)]);
      assert.ok(Number.isInteger(options?.mtime));
      return { sessionId: of.sessionId, mtime: 0, data: { folds: seen.length } };
    },
  });
  await store.append(key, [entry(1), entry(1), entry(2)]);
  await store.append({ ...key, subpath: "a" }, [entry(1)]);
  await store.append(key, [entry(2), entry(3)]);
  await store.append(key, [entry(3)]);
  assert.deepEqual(seen, [
    [undefined, key, ["uuid-1", "uuid-2"]],
    [{ folds: 1 }, key, ["uuid-3"]],
  ]);
  const summaries = await store.listSessionSummaries(key.projectKey);
  assert.deepEqual(columns(summaries, "sessionId", "data"), [[key.sessionId, { folds: 2 }]]);
});

test("a summary that is too large is cut, and one that cannot be kept is left to the SDK", async () => {
  await using throughline = await openThroughline({ storage: "memory" });
  let data: unknown;
  const store = storeOn(throughline, {
    foldSessionSummary: ({ sessionId } = { sessionId: "", mtime: 0, data: {} }) => {
      if (data instanceof Error) throw data;
      return { sessionId, mtime: 0, data: data as Record<string, unknown> };
    },
  });
  const found = async () =>
    (await store.listSessionSummaries(key.projectKey)).map((each) => each.data);
  const title = randomText(70_000);
  data = { title, tag: "short" };
  await store.append(key, [entry(1)]);
  assert.deepEqual(await found(), [{ title: title.slice(0, 8_192), tag: "short" }]);
  for (const bad of [{ list: Array(70_000).fill(1) }, { zero: -0 }, undefined, new Error("no")]) {
    data = bad;
    const [own, n] = [{ ...key, sessionId: String(bad) }, (await found()).length];
    await store.append(own, [entry(1)]);
    data = { count: 1 };
    await store.append(own, [entry(2)]); // a fold of the rest alone would be wrong
    assert.equal((await found()).length, n);
    assert.deepEqual(await store.load(own), [entry(1), entry(2)]);
    await store.delete(own);
  }
});

test("arguments of the wrong kind are refused with a code, and nothing is stored", async () => {
  await using throughline = await openThroughline({ storage: "memory" });
  const store = storeOn(throughline);
  const refused = { code: "THROUGHLINE_INVALID" };
  const bad = [
    { ...key, subpath: "" },
    { ...key, subpath: 7 },
    { ...key, sessionId: "" },
    { projectKey: "p" },
    { sessionId: "s" },
    undefined,
  ] as unknown as readonly (typeof key)[];
  for (const each of bad) {
    await assert.rejects(store.append(each, [entry(1)]), refused);
    await assert.rejects(store.load(each), refused);
    await assert.rejects(store.delete(each), refused);
  }
  await assert.rejects(store.listSubkeys({ projectKey: "", sessionId: "s" }), refused);
  await assert.rejects(store.listSessions(""), refused);
  await assert.rejects(store.listSessionSummaries(""), refused);
  for (const entries of ["entries", [entry(1), "text"], [null]]) {
    await assert.rejects(store.append(key, entries as unknown as []), refused);
  }
  const none = {} as ThroughlineSessionStoreOptions;
  assert.throws(() => storeOn(throughline, none), /foldSessionSummary/);
  const long = { ...key, subpath: "x".repeat(1_024) };
  await assert.rejects(store.append(long, [entry(1)]), { code: "THROUGHLINE_TOO_LARGE" });
  assert.deepEqual(await store.listSessions(key.projectKey), []);
});

const long = entry("long", { text: randomText(600_000), secret: true });
const mirrored = [entry("first"), long, ...numbered(300)];

/** Runs it so that its process dies at write 1, then at write 2, and so on. */
async function dieAtEach(
  work: (store: ThroughlineSessionStore) => Promise<unknown>,
  then: (store: ThroughlineSessionStore, storage: Storage) => Promise<void>,
): Promise<number> {
  for (const when of ["before", "after"] as const) {
    for (let write = 1; ; write++) {
      await using storage = openMemoryStorage();
      await using whole = await openThroughline({ storage: kept(storage) });
      const { ports } = whole;
      const dying = { storage: stoppingStorage(storage, { write, when }), ports };
      const ended = await work(storeOn(dying)).then(
        () => "done",
        (error: unknown) => (error instanceof Stopped ? "stopped" : Promise.reject(error)),
      );
      await then(storeOn(whole), storage);
      if (ended === "stopped") continue;
      if (when === "after") return write;
      break;
    }
  }
  return 0;
}

test("an append that dies at any write leaves the first entries, and a repeat adds the rest", async () => {
  const writes = await dieAtEach(
    (store) => store.append(key, mirrored),
    async (store) => {
      const left = (await store.load(key)) ?? [];
      assert.deepEqual(left, mirrored.slice(0, left.length));
      const sessions = await store.listSessions(key.projectKey);
      assert.equal(sessions.length, left.length === 0 ? 0 : 1);
      await store.append(key, mirrored);
      assert.deepEqual(await store.load(key), mirrored);
    },
  );
  assert.ok(writes > 3, `${writes}`);
});

test("an append that dies at any write leaves nothing that forgetting the session does not reach", async () => {
  await dieAtEach(
    (store) => store.append({ ...key, subpath: "a" }, mirrored),
    async (_, storage) => {
      await using throughline = await openThroughline({ storage: kept(storage) });
      await throughline.chats.forget(key.sessionId);
      const left = await storage.logs("claude", frameworkProjection).list({ limit: 9 });
      assert.deepEqual(left?.rows, []);
      assert.equal(await storeOn(throughline).load({ ...key, subpath: "a" }), null);
      const logKey = `${key.sessionId}/${key.projectKey}/a`;
      assert.equal(await storage.logs("claude", frameworkProjection).tail(logKey, 0), undefined);
    },
  );
});

test("a deletion that dies at any write can be repeated: a session whose subpaths are left is still listed", async () => {
  const parts = [key, { ...key, subpath: "a" }, { ...key, subpath: "b" }];
  await dieAtEach(
    async (store) => {
      for (const each of parts) await store.append(each, [entry(1)]);
      await store.delete(key);
    },
    async (store) => {
      const { length } = await store.listSessions(key.projectKey);
      if ((await store.listSubkeys(key)).length > 0) assert.equal(length, 1);
      await store.delete(key);
      for (const each of parts) assert.equal(await store.load(each), null);
      assert.deepEqual(await store.listSubkeys(key), []);
    },
  );
});

test("a session that another process deletes during an append is whole afterwards, or gone", async () => {
  await using storage = openMemoryStorage();
  await using throughline = await openThroughline({ storage: kept(storage) });
  const { ports } = throughline;
  let deletions = 0;
  const busy: Storage = kept(storage);
  const logs: Storage["logs"] = (collection, projection) => {
    const store = storage.logs(collection, projection);
    const append: typeof store.append = async (logKey, records, options) => {
      const seq = await store.append(logKey, records, options);
      const arePartsOnly = records.every(({ id }) => id.startsWith("part:"));
      if (arePartsOnly && deletions++ < 2) {
        await storeOn(throughline).delete(key);
        await storeOn(throughline).append(key, [entry("other")]);
      }
      return seq;
    };
    return changed(store, { append });
  };
  await storeOn({ storage: { ...busy, logs }, ports }).append(key, [long]);
  assert.deepEqual(await storeOn(throughline).load(key), [entry("other"), long]);
  assert.equal(deletions, 3);
});

storeTest("forgetting a session id removes its subpaths too", async (store, { chats }) => {
  const parts = [key, { ...key, subpath: "a" }, { ...key, projectKey: "q", subpath: "b" }];
  for (const each of parts) await store.append(each, [entry(1)]);
  await store.append({ ...key, sessionId: "other", subpath: "a" }, [entry(1)]);
  const { removed } = await chats.forget(key.sessionId);
  assert.ok(removed.some(({ place, count }) => place === "claude" && count === 3));
  for (const each of parts) assert.equal(await store.load(each), null);
  assert.deepEqual(await store.load({ ...key, sessionId: "other", subpath: "a" }), [entry(1)]);
});

test("what was answered before a kill is there, once, and the session goes on", async (t) => {
  const home = temporaryDirectory(t);
  let answered = -1;
  const kills = process.env["THROUGHLINE_FULL"] === "1" ? 5 : 1;
  for (let kill = 0; kill < kills; kill++) {
    const args = [home, String(answered + 1)];
    answered = Number((await killed("claude", args, { once: /(?:\d+\n){7}/ })).at(-1));
    await using throughline = await openThroughline({ home });
    const store = storeOn(throughline);
    const loaded = (await store.load({ projectKey: "p", sessionId: "s" })) ?? [];
    assert.ok(loaded.length >= 2 * (answered + 1), `${loaded.length} after ${answered}`);
    for (const [at, { uuid, n, text }] of loaded.entries()) {
      const round = Math.floor(at / 2);
      assert.deepEqual([uuid, n], [`u${round}-${at % 2 === 0 ? "a" : "b"}`, round]);
      const length = round % 5 === 4 ? 600_000 : 1;
      if (at % 2 === 0) assert.equal(String(text).length, length);
    }
    const [summary] = await store.listSessionSummaries("p");
    assert.equal(summary?.data["count"], loaded.length);
  }
});
