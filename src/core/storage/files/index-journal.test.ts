// The index between what it wrote and what the journal holds: every answer is that of a storage in memory.
import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { faultyDisk } from "../../../../test/support/faulty-disk.ts";
import {
  atOnce,
  homeFolder,
  killedCopy,
  never,
  openIndexed,
} from "../../../../test/support/indexed-home.ts";
import { saidProjection } from "../../../../test/support/projections.ts";
import { seededRandom } from "../../../testing/random.ts";
import { realDisk } from "../disk/disk.ts";
import type { LogStore } from "../log-store.ts";
import { openMemoryStorage } from "../memory/memory-storage.ts";

const isFull = process.env["THROUGHLINE_FULL"] === "1";

/** Of this thread alone: the other cannot load it. */
const ownProjection = { ...saidProjection, module: undefined };

const keys = ["a", "b", "B", "ä", "\u{1f642}"];
const ids = ["m1", "M1", "x", "x-y", "x_y", "ä", "é"];
const words = ["red", "Réd", "fox", "東京", "京", "don't", "a b", "\u{1f642}", "nul\0l"];
const labels = ["red", "blue"];

async function answersOf(logs: LogStore): Promise<unknown> {
  const lists = [undefined, ...labels].map((label) => logs.list({ limit: 100, label }));
  const hits = words.flatMap((word) =>
    [undefined, "a"].map((key) => logs.search(word, { limit: 100, key })),
  );
  const few = ["r", "fo", "don't p"].map((word) => logs.search(word, { limit: 2, prefix: true }));
  const found = keys.map(async (key) => [...(await logs.findAll(key, ids))].sort());
  return Promise.all([...lists, ...hits, ...few, ...found]);
}

/** The same steps for two storages: what one of them refuses the other refuses too. */
async function inBoth(stores: readonly LogStore[], step: (logs: LogStore) => Promise<unknown>) {
  const codes = stores.map((logs) =>
    step(logs).then(
      () => "done",
      (error: { readonly code?: string }) => String(error.code),
    ),
  );
  assert.equal(new Set(await Promise.all(codes)).size, 1, String(await Promise.all(codes)));
}

for (const by of ["its thread", "the main thread"] as const) {
  test(`a search, a list and an id at every position between what ${by} wrote and the end of the journal`, async (t) => {
    const seed = 1 + Math.floor(Math.random() * 1e6);
    t.diagnostic(`seed ${seed}`);
    const random = seededRandom(seed);
    const pick = <T>(of: readonly T[]): T => of[random(of.length)] as T;
    const isThread = by === "its thread";
    const projection = isThread ? saidProjection : ownProjection;
    for (let round = 0; round < (isFull ? 40 : 3); round++) {
      const home = homeFolder(t);
      await using memory = openMemoryStorage();
      const model = memory.logs("chats", projection);
      const options = { timers: isThread ? atOnce : never, segmentBytes: 8 * 1024 };
      let opened = await openIndexed(home, options);
      let logs = opened.storage.logs("chats", projection);
      for (let n = 0; n < 30; n++) {
        const act = random(16);
        const key = pick(keys);
        const given = pick(ids);
        if (act < 10) {
          const id = random(3) === 0 ? given : `r${random(1_000)}`;
          const content = Array.from({ length: random(4) }, () => pick(words)).join(" ");
          const hides = random(4) === 0 ? { hides: pick(ids) } : {};
          const head = { at: `2026-01-0${1 + random(4)}`, labels: labels.slice(random(3)) };
          await inBoth([logs, model], (each) =>
            each.append(key, [{ id, content, ...hides }], { head }),
          );
        } else if (act === 10) await inBoth([logs, model], (each) => each.delete(key));
        else if (act === 11) await inBoth([logs, model], (each) => each.erase(key, [given]));
        else if (act < 14) await opened.index.sync();
        else if (act === 14) {
          await opened.storage.close();
          opened = await openIndexed(home, options);
          logs = opened.storage.logs("chats", projection);
        }
        assert.deepEqual(
          await answersOf(logs),
          await answersOf(model),
          `round ${round}, step ${n}`,
        );
      }
      await opened.storage.close();
    }
  });
}

test("the thread reads the journal while it rotates", async (t) => {
  const home = homeFolder(t);
  const { storage, index } = await openIndexed(home, { timers: atOnce, segmentBytes: 8 * 1024 });
  const logs = storage.logs("chats", saidProjection);
  const said = async (key: string) => {
    for (let n = 1; n <= 40; n++) {
      await logs.append(key, [{ id: `m${n}`, content: `hello ${"word ".repeat(40)}` }]);
      if (n % 20 === 0) assert.equal((await logs.search("hello", { limit: 100, key })).length, n);
    }
  };
  await Promise.all(Array.from({ length: 15 }, (_, n) => said(`k${n}`)));
  await index.sync();
  assert.equal(index.behind.bytes, 0);
  const { rows } = await logs.list({ limit: 100 });
  assert.deepEqual(new Set(rows.map(({ seq }) => seq)), new Set([40]));
  assert.equal(rows.length, 15);
  assert.equal(index.losses, 0);
  await storage.close();
  const next = await openIndexed(home);
  assert.equal(next.coverage, "all");
  assert.equal(
    (await next.storage.logs("chats", saidProjection).search("hello", { limit: 1_000 })).length,
    600,
  );
});

test("killed again soon after a start, the next one reads no more of the journal than the first", async (t) => {
  let home = homeFolder(t);
  const open = async () => {
    const told: string[] = [];
    const opened = await openIndexed(home, {
      timers: never,
      segmentBytes: 2 ** 20,
      onOpened(part) {
        const recovered = part.recovered.bind(part);
        part.recovered = (log, ...place) => {
          told.push(log.key);
          recovered(log, ...place);
        };
      },
    });
    return { ...opened, logs: opened.storage.logs("chats", saidProjection), told };
  };
  const kill = () => {
    home = killedCopy(t, home);
  };
  const one = await open();
  await one.logs.list({ limit: 1 });
  for (let n = 0; n < 50; n++) await one.logs.append(`k${n}`, [{ id: "m1", content: "hello" }]);
  await one.index.catchUp();
  await one.logs.append("late", [{ id: "m1", content: "hello" }]);
  const counts: number[] = [];
  for (let life = 1; life <= 3; life++) {
    kill();
    const { logs, told } = await open();
    const late = { id: `life${life}`, content: "hello" };
    await logs.append("late", [late]);
    assert.equal(await logs.append("late", [{ id: "m1", content: "hello" }]), 1);
    assert.equal((await logs.search("hello", { limit: 100 })).length, 51 + life);
    assert.equal((await logs.list({ limit: 100 })).rows.length, 51);
    counts.push(told.length);
  }
  assert.deepEqual(counts, [1, 1, 1]);
});

test("a log that is cut back because it could not be written is not reported, and the index has what is left", async (t) => {
  const home = homeFolder(t);
  const path = /chats\/a\.jsonl/;
  const disk = faultyDisk(realDisk, { fault: "EIO", at: 2, call: "write", path });
  const { storage, index } = await openIndexed(home, { disk, timers: atOnce });
  const logs = storage.logs("chats", saidProjection);
  await logs.append("a", [{ id: "m1", content: "hello" }]);
  await index.sync();
  await assert.rejects(logs.append("a", [{ id: "m2", content: "hello void" }]));
  await index.catchUp();
  assert.deepEqual(await logs.search("void", { limit: 9 }), []);
  assert.equal(await logs.append("a", [{ id: "m3", content: "hello" }]), 2);
  assert.equal((await logs.search("hello", { limit: 9 })).length, 2);
  assert.deepEqual(
    (await logs.list({ limit: 9 })).rows.map(({ seq, damaged }) => [seq, damaged]),
    [[2, false]],
  );
  assert.equal(await logs.find("a", "m2"), undefined);
  await storage.close();
  assert.deepEqual(storage.repairs(), []);
});

test("an index with a damaged page is found out at the start after a kill, and rebuilt from the logs", async (t) => {
  const home = homeFolder(t);
  const first = await openIndexed(home);
  const said = first.storage.logs("chats", saidProjection);
  for (let n = 0; n < 40; n++) {
    await said.append(`k${n}`, [{ id: "m1", content: `hello ${"word ".repeat(20)}` }], {
      head: { at: "2026", labels: ["red"], filling: "x".repeat(500) },
    });
  }
  await first.storage.close();
  const path = join(home, "index.db");
  const { size } = fs.statSync(path);
  const { storage } = await openIndexed(home);
  await storage.logs("chats", saidProjection).list({ limit: 1 });
  const copy = killedCopy(t, home);
  const file = fs.openSync(join(copy, "index.db"), "r+");
  for (let page = 8; page < size / 4096; page++) {
    fs.writeSync(file, Buffer.alloc(4_000, 0xa5), 0, 4_000, page * 4096 + 50);
  }
  fs.closeSync(file);
  const next = await openIndexed(copy);
  assert.equal(next.coverage, "unknown");
  assert.equal(
    (await next.storage.logs("chats", saidProjection).list({ limit: 100 })).rows.length,
    40,
  );
});
