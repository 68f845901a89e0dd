// What an adapter keeps in its own collection, in a process that has not loaded the adapter.
import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  type FrameworkLogs,
  frameworkLogs,
  ownerLabel,
} from "../src/core/storage/framework-logs.ts";
import { openMemoryStorage } from "../src/core/storage/memory/memory-storage.ts";
import type { Storage } from "../src/core/storage/storage.ts";
import { openThroughline } from "../src/core/throughline.ts";
import { copyCompanion } from "../src/postgres/move/copy-companion.ts";
import { copiesOf, runCli, temporaryDirectory } from "./support/command-line.ts";
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

const filledHome = copiesOf(async (home) => {
  await using throughline = await openThroughline({ home });
  await fill(throughline.storage);
});

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
  assert.equal(removed.find(({ place }) => place === collection)?.count, 501);
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
