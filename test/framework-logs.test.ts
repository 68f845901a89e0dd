// What an adapter keeps in its own collection, in a process that has not loaded the adapter.
import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { ThroughlineSaver } from "../src/adapters/langchain/saver.ts";
import {
  type FrameworkLogs,
  frameworkLogs,
  frameworkStore,
  ownerLabel,
} from "../src/core/storage/framework-logs.ts";
import { openMemoryStorage } from "../src/core/storage/memory/memory-storage.ts";
import type { Storage } from "../src/core/storage/storage.ts";
import { openThroughline } from "../src/core/throughline.ts";
import { exportFrameworkLogs, importOwn } from "../src/interchange/framework-log-file.ts";
import { copyCompanion } from "../src/postgres/move/copy-companion.ts";
import { bytesUnder, runCli, temporaryDirectory } from "./support/command-line.ts";
import { kept } from "./support/kept-storage.ts";

const word = "lighthouse";

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

test("erasing a message names what frameworks keep under the id of its chat, and of no other", async (t) => {
  const home = await filledHome(t);
  {
    await using throughline = await openThroughline({ home });
    await throughline.chats.append("local:me", [{ id: "m", role: "user", content: word }]);
    await throughline.chats.append("alone", [{ id: "m", role: "user", content: word }]);
    assert.deepEqual((await throughline.chats.erase("alone", "m")).unreachable, []);
  }
  const { code, out } = await runCli(["sessions", "erase", "local:me", "m"], { home });
  assert.equal(code, 1);
  for (const { collection } of frameworkLogs) {
    const says = "may hold it; forget the chat, or delete it there";
    assert.ok(out.includes(`NOT REACHED: ${collection}: "local:me" ${says}\n`), out);
  }
});

test("doctor reads what frameworks keep, and finds damage in it", async (t) => {
  const home = await filledHome(t);
  const well = await runCli(["doctor"], { home });
  assert.match(well.out, /\nok +10 records in 6 logs, .* were read\n/);
  const [name = ""] = fs.readdirSync(join(home, "langgraph"));
  const path = join(home, "langgraph", name);
  const bytes = fs.readFileSync(path);
  bytes[bytes.indexOf("v:1")] = 0x77;
  fs.writeFileSync(path, bytes);
  const { code, out } = await runCli(["doctor", "--json"], { home });
  assert.notEqual(code, 0);
  assert.match(out, /langgraph\/.*: older_copy/);
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

/** Exports a home, or one id of it. @returns the files by name. */
async function exported(
  t: TestContext,
  home: string,
  ...args: readonly string[]
): Promise<{ readonly folder: string; readonly names: readonly string[] }> {
  const folder = join(temporaryDirectory(t), "out");
  const line = ["export", "--format", "throughline", "--out", folder, ...args];
  const { code, err } = await runCli(line, { home });
  assert.equal(code, 0, err);
  return { folder, names: fs.readdirSync(folder).sort() };
}

const importOf = (path: string, ...args: readonly string[]) => [
  ...["import", path, "--from", "throughline", "--json"],
  ...args,
];

test("an export has what frameworks keep, and an import brings it back, once", async (t) => {
  const { folder, names } = await exported(t, await filledHome(t));
  assert.equal(names.length, 2 + 2 * frameworkLogs.length, names.join());
  const home = join(temporaryDirectory(t), "home");
  for (const records of [2, 0]) {
    const { code, out, err } = await runCli(importOf(folder), { home });
    assert.equal(code, 0, err);
    const { logs } = JSON.parse(out);
    assert.equal(logs.length, 2 * frameworkLogs.length);
    for (const log of logs) assert.deepEqual([log.records, log.skipped], [records, 2 - records]);
  }
  await using throughline = await openThroughline({ home });
  for (const { collection, projection } of frameworkLogs) {
    const logs = throughline.storage.logs(collection, projection);
    const tail = await logs.tail("local:me", 9);
    assert.deepEqual(tail, {
      seq: 2,
      head: { updated_at: "2026-11-01T00:00:00.000Z", labels: [word] },
      records: [
        { id: "v:1", seq: 1, value: word },
        { id: "c:1", seq: 2 },
      ],
      damaged: false,
    });
    assert.equal((await logs.list({ limit: 9, label: word })).rows.length, 1);
  }
});

test("an import that was cut short is completed; another log of the same key stays as it is", async (t) => {
  const { folder } = await exported(t, await filledHome(t), "--chat", "local:me");
  const home = join(temporaryDirectory(t), "home");
  const head = { updated_at: "2026-11-01T00:00:00.000Z", labels: [word] };
  {
    await using throughline = await openThroughline({ home });
    const [one, two] = frameworkLogs.map(({ collection, projection }) =>
      throughline.storage.logs(collection, projection),
    );
    await one?.append("local:me", [{ id: "v:1", value: word }], { head });
    await two?.append("local:me", [{ id: "v:1", value: "mine" }], { head });
  }
  const { code, out } = await runCli(importOf(folder), { home });
  assert.equal(code, 1);
  const { logs, failed } = JSON.parse(out);
  assert.deepEqual([logs[0].records, logs[0].skipped], [1, 1]);
  assert.deepEqual(
    failed.map((each: { code: string }) => each.code),
    ["THROUGHLINE_CONFLICT"],
  );
  await using throughline = await openThroughline({ home });
  const [one, two] = frameworkLogs.map(({ collection, projection }) =>
    throughline.storage.logs(collection, projection),
  );
  assert.equal((await one?.tail("local:me", 0))?.seq, 2);
  assert.equal((await two?.find("local:me", "v:1"))?.["value"], "mine");
  assert.equal((await two?.tail("local:me", 0))?.seq, 1);
});

test("a log that has grown since its export stays as it is", async (t) => {
  const home = await filledHome(t);
  const { folder } = await exported(t, home);
  const place = async () => {
    await using throughline = await openThroughline({ home });
    const logs = frameworkStore(throughline.storage, "claude");
    await logs?.append("local:me", [{ id: "c:2" }]); // without a head: that stays
    return (await logs?.tail("local:me", 0))?.seq;
  };
  assert.equal(await place(), 3);
  const { code, out } = await runCli(importOf(folder), { home });
  assert.equal(code, 1);
  assert.equal(JSON.parse(out).failed[0]?.code, "THROUGHLINE_CONFLICT");
  assert.equal(await place(), 3);
});

test("a file of a framework's log that is not whole is refused, and nothing of it is stored", async (t) => {
  const { folder, names } = await exported(t, await filledHome(t), "--chat", "local:me");
  const name = names.find((each) => each.startsWith("claude_")) ?? "";
  const lines = fs.readFileSync(join(folder, name), "utf8").split("\n").slice(0, -1);
  const whole = lines.map((line) => `${line}\n`);
  const title = whole[0] ?? "";
  for (const [what, text] of [
    ["without its end", whole.slice(0, -1).join("")],
    ["without a record", [...whole.slice(0, 2), ...whole.slice(3)].join("")],
    ["with its records in another order", [title, whole[2], whole[1], title].join("")],
    ["with a record twice", [...whole.slice(0, 2), ...whole.slice(1)].join("")],
    ["with a line that is no JSON", [title, "{\n", ...whole.slice(1)].join("")],
    ["with something behind its end", [...whole, '{"id":"v:2","seq":3}\n'].join("")],
    ["of another framework", whole.join("").replaceAll('"claude"', '"other"')],
    ["with a number that JSON text does not keep", whole.join("").replace(`"${word}"}`, "-0}")],
  ] as const) {
    const path = join(temporaryDirectory(t), "bad.jsonl");
    const home = join(temporaryDirectory(t), "home");
    fs.writeFileSync(path, text);
    for (const dryRun of [["--dry-run"], []]) {
      const { code, out } = await runCli(importOf(path, ...dryRun), { home });
      assert.equal(code, 1, what);
      assert.equal(JSON.parse(out).failed.length, 1, what);
    }
    assert.ok(!bytesUnder(home).includes("v:1"), what);
  }
});

test("what frameworks kept under an id that was forgotten comes back only by force", async (t) => {
  const folder = temporaryDirectory(t);
  const home = join(folder, "home");
  const head = { updated_at: "2026-11-01T00:00:00.000Z", labels: [ownerLabel("session")] };
  {
    await using throughline = await openThroughline({ home });
    for (const { collection, projection } of frameworkLogs) {
      const logs = throughline.storage.logs(collection, projection);
      await logs.append("thread", [{ id: "v:1", value: word }]);
      await logs.append("part of it", [{ id: "v:1", value: word }], { head });
    }
  }
  const files = await exported(t, home);
  for (const id of ["thread", "session"]) {
    const { code, err } = await runCli(["sessions", "forget", id, "--yes"], { home });
    assert.equal(code, 0, err);
  }
  assert.ok(!bytesUnder(home).includes(word));
  const { out } = await runCli(importOf(files.folder), { home });
  assert.equal(JSON.parse(out).refused.length, 2 * frameworkLogs.length);
  assert.ok(!bytesUnder(home).includes(word));
  const forced = await runCli(importOf(files.folder, "--force"), { home });
  assert.equal(JSON.parse(forced.out).logs.length, 2 * frameworkLogs.length);
  assert.ok(bytesUnder(home).includes(word));
});

test("one id is exported with the logs that its label names, also without a chat, and no other", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  {
    await using throughline = await openThroughline({ home });
    for (const { collection, projection } of frameworkLogs) {
      const logs = throughline.storage.logs(collection, projection);
      for (const [key, owner] of [
        ["a/1", "session"],
        ["a/2", "session"],
        ["b/1", "other"],
      ] as const) {
        await logs.append(key, [{ id: "v:1" }], { head: { labels: [ownerLabel(owner)] } });
      }
    }
  }
  const { names } = await exported(t, home, "--chat", "session");
  assert.equal(names.length, 2 * frameworkLogs.length, names.join());
  for (const format of ["throughline", "nanobot"]) {
    const line = ["export", "--format", format, "--out", join(home, "../no"), "--chat", "nothing"];
    assert.match((await runCli(line, { home })).err, /THROUGHLINE_NOT_FOUND/);
  }
  const own = ["export", "--format", "nanobot", "--out", join(home, "../no"), "--chat", "session"];
  assert.match((await runCli(own, { home })).err, /THROUGHLINE_NOT_FOUND/);
});

test("a log that cannot be read whole is left out of an export, and named", async (t) => {
  const home = await filledHome(t);
  {
    await using throughline = await openThroughline({ home });
    const logs = frameworkStore(throughline.storage, "claude");
    await logs?.append("local:me", [{ id: "c:2" }]);
  }
  const path = join(home, "claude", "local%3ame.jsonl");
  const bytes = fs.readFileSync(path);
  bytes[bytes.indexOf("v:1")] = 0x77;
  fs.writeFileSync(path, bytes);
  const line = ["export", "--format", "throughline", "--out", join(home, "../out"), "--json"];
  const { code, out } = await runCli(line, { home });
  assert.equal(code, 1);
  const { files, left_out: leftOut } = JSON.parse(out);
  assert.deepEqual([files.length, leftOut.length], [2 + 2 * frameworkLogs.length - 1, 1]);
});

test("forgetting an id removes every log whose label names it, and no other", async () => {
  await using throughline = await openThroughline({ storage: "memory" });
  const [{ collection, projection }] = frameworkLogs as readonly [FrameworkLogs];
  const logs = throughline.storage.logs(collection, projection);
  const parts = Array.from({ length: 501 }, (_, n) => `${n}`);
  await Promise.all(
    [...parts, "another"].map((key) => {
      const owner = key === "another" ? "session 2" : "session";
      return logs.append(key, [{ id: "v:1" }], { head: { labels: [ownerLabel(owner)] } });
    }),
  );
  const { removed } = await throughline.chats.forget("session");
  assert.ok(removed.some((each) => sameRow(each, { place: collection, count: 501 })));
  const left = await logs.list({ limit: 9 });
  assert.deepEqual(
    left.rows.map(({ key }) => key),
    ["another"],
  );
});

test("a backup has what frameworks keep, and restoring it brings it back", async (t) => {
  const home = await filledHome(t);
  const folder = temporaryDirectory(t);
  const [backup, restored] = [join(folder, "backup"), join(folder, "restored")] as const;
  assert.equal((await runCli(["backup", backup], { home })).code, 0);
  const { code, err } = await runCli(["restore", backup], { home: restored });
  assert.equal(code, 0, err);
  await using throughline = await openThroughline({ home: restored });
  for (const { collection, projection } of frameworkLogs) {
    const logs = throughline.storage.logs(collection, projection);
    assert.equal((await logs.find("local:me", "v:1"))?.["value"], word);
    assert.equal((await logs.list({ limit: 9, label: word })).rows.length, 1);
  }
});

function sameRow(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

test("a thread that is forgotten and brought back is not taken for the one that a saver knew", async (t) => {
  const storage = openMemoryStorage();
  t.after(() => storage.close());
  const throughline = await openThroughline({ storage: kept(storage) });
  const saver = new ThroughlineSaver(throughline);
  const config = { configurable: { thread_id: "t", checkpoint_ns: "" } };
  const put = (x: string) => {
    const checkpoint = { ...emptyCheckpoint(), id: uuid6(0), channel_values: { x } };
    return saver.put(config, checkpoint, { source: "loop", step: 1, parents: {} });
  };
  await put("before");
  const lines: string[] = [];
  for await (const { pieces } of exportFrameworkLogs(storage, "t")) {
    for await (const piece of pieces) lines.push(piece);
  }
  await put("after the export");
  await throughline.chats.forget("t");
  const bytes = {
    [Symbol.asyncIterator]: async function* () {
      yield Buffer.from(lines.join(""));
    },
  };
  const { chats, ports } = throughline;
  const options = { storage, chats, clock: ports.clock, zone: "UTC", force: true };
  const report = await importOwn([{ name: "t.jsonl", bytes }], options);
  assert.equal(report.logs.length, 1);
  const stored = await put("after the export");
  assert.deepEqual((await saver.getTuple(stored))?.checkpoint.channel_values, {
    x: "after the export",
  });
  const again = await importOwn([{ name: "t.jsonl", bytes }], options);
  assert.deepEqual([again.logs.length, again.failed.length], [0, 1], "it has grown since");
});
