// What an adapter keeps in its own collection, in a process that has not loaded the adapter.
import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { frameworkLogs } from "../src/core/storage/framework-logs.ts";
import { openMemoryStorage } from "../src/core/storage/memory/memory-storage.ts";
import type { Storage } from "../src/core/storage/storage.ts";
import { openThroughline } from "../src/core/throughline.ts";
import { copyCompanion } from "../src/postgres/move/copy-companion.ts";
import { bytesUnder, runCli, temporaryDirectory } from "./support/command-line.ts";
import { kept } from "./support/companion-home.ts";
import { companion, jsonOf, me } from "./support/server-fixture.ts";

const word = "lighthouse";
const others = frameworkLogs.map(({ collection }) => ({ place: collection, count: 2 }));

/** Stores a word in a chat and in a log of each framework under the same id, and other words under another id. */
async function fill(storage: Storage): Promise<void> {
  const throughline = await openThroughline({ storage: kept(storage) });
  for (const [key, said] of [
    ["local:me", word],
    ["local:you", "harbour"],
  ] as const) {
    await throughline.chats.append(key, [{ role: "user", content: said }]);
    for (const { collection, projection } of frameworkLogs) {
      const records = [{ id: "v:1", value: said }, { id: "c:1" }];
      const head = { updated_at: "2026-11-01T00:00:00.000Z", labels: [said] };
      await storage.logs(collection, projection).append(key, records, { head });
    }
  }
  await throughline.close();
}

async function filledHome(t: TestContext): Promise<string> {
  const home = join(temporaryDirectory(t), "home");
  await using throughline = await openThroughline({ home });
  await fill(throughline.storage);
  return home;
}

test("forgetting a chat by the library removes what frameworks keep under its id, and nothing else", async (t) => {
  const home = await filledHome(t);
  assert.ok(bytesUnder(home).includes(word));
  {
    await using throughline = await openThroughline({ home });
    const { removed } = await throughline.chats.forget("local:me");
    const [transcript, ...rest] = removed;
    assert.deepEqual(transcript, { place: "transcript", count: 1 });
    assert.deepEqual(
      rest.filter(({ place }) => place !== "working memory"),
      others,
    );
  }
  assert.ok(!bytesUnder(home).includes(word));
  await using throughline = await openThroughline({ home });
  for (const { collection, projection } of frameworkLogs) {
    const logs = throughline.storage.logs(collection, projection);
    assert.equal((await logs.find("local:you", "v:1"))?.["value"], "harbour");
  }
});

test("forgetting a chat by the command line removes what frameworks keep under its id", async (t) => {
  const home = await filledHome(t);
  const { out } = await runCli(["sessions", "forget", "local:me", "--yes", "--json"], { home });
  const { removed } = JSON.parse(out) as { removed: readonly unknown[] };
  for (const row of others)
    assert.ok(
      removed.some((each) => sameRow(each, row)),
      out,
    );
  assert.ok(!bytesUnder(home).includes(word));
});

test("forgetting a chat over HTTP removes what frameworks keep under its id", async (t) => {
  const storage = openMemoryStorage();
  t.after(() => storage.close());
  await fill(storage);
  const c = await companion([], { throughline: await openThroughline({ storage: kept(storage) }) });
  const { removed } = await jsonOf(await c.ask(me, { method: "DELETE" }), 200);
  for (const row of others) assert.ok(removed.some((each: unknown) => sameRow(each, row)));
  for (const { collection, projection } of frameworkLogs) {
    assert.equal(await storage.logs(collection, projection).tail("local:me", 0), undefined);
  }
  await c.server.close();
});

test("what frameworks keep under an id without a chat is forgotten too", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  await using throughline = await openThroughline({ home });
  for (const { collection, projection } of frameworkLogs) {
    const logs = throughline.storage.logs(collection, projection);
    await logs.append("thread", [{ id: "v:1", value: word }, { id: "c:1" }]);
  }
  const { removed } = await throughline.chats.forget("thread");
  for (const row of others) assert.ok(removed.some((each) => sameRow(each, row)));
  assert.ok(!bytesUnder(home).includes(word));
});

test("a home without adapters gets no folder of theirs by forgetting", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  await using throughline = await openThroughline({ home });
  await throughline.chats.append("local:me", [{ role: "user", content: word }]);
  const { removed } = await throughline.chats.forget("local:me");
  assert.ok(removed.every(({ place }) => others.every((other) => other.place !== place)));
  for (const { collection } of frameworkLogs) assert.ok(!fs.existsSync(join(home, collection)));
});

test("doctor reads what frameworks keep, and finds damage in it", async (t) => {
  const home = await filledHome(t);
  const well = await runCli(["doctor"], { home });
  for (const { collection } of frameworkLogs) {
    assert.match(
      well.out,
      new RegExp(`\\nok +${collection}: 4 records in 2 logs, every checksum is right\n`),
    );
    assert.match(well.out, new RegExp(`\\nok +${collection}: every log is in the index\n`));
  }
  const [name = ""] = fs.readdirSync(join(home, "langgraph"));
  const path = join(home, "langgraph", name);
  const bytes = fs.readFileSync(path);
  bytes[bytes.indexOf("v:1")] = 0x77;
  fs.writeFileSync(path, bytes);
  const { code, out } = await runCli(["doctor", "--json"], { home });
  assert.notEqual(code, 0);
  assert.match(out, /"log\.langgraph"/);
});

test("moving a companion takes what frameworks keep along", async (t) => {
  const [from, to] = [openMemoryStorage(), openMemoryStorage()];
  t.after(() => Promise.all([from.close(), to.close()]));
  await fill(from);
  await copyCompanion(from, to);
  for (const { collection, projection } of frameworkLogs) {
    const found = await to.logs(collection, projection).find("local:me", "v:1");
    assert.equal(found?.["value"], word);
  }
});

function sameRow(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
