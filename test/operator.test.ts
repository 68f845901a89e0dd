// What an operator finds out of a home that a server uses: by /metrics, doctor and the log.
import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { openThroughline } from "../src/core/throughline.ts";
import {
  copiesOf,
  fakeIo,
  Process,
  postTo,
  runCli,
  serveHere,
  temporaryDirectory,
} from "./support/command-line.ts";
import { openAiServer } from "./support/openai-server.ts";

const words = "xylophone";

/** A home with two chats, one with a file of 3,000 bytes and one that is damaged, and what was set aside. */
const homeOf = copiesOf(async (home) => {
  {
    await using throughline = await openThroughline({ home });
    const { chats } = throughline;
    for (const id of ["a", "b"]) {
      for (let n = 0; n < 3; n++) {
        await chats.append(id, [{ role: "user", content: `${words} ${n} of ${id}` }]);
      }
    }
  }
  const file = join(home, "..", "f.bin");
  fs.writeFileSync(file, Buffer.alloc(3_000, 7));
  const io = fakeIo(`/attach ${file}\n${words}\n`);
  assert.equal((await runCli(["chat", "--chat", "c"], { home, io })).code, 0);
  const log = join(home, "chats", "b.jsonl");
  const bytes = fs.readFileSync(log);
  bytes[bytes.indexOf("1 of b")] = 0x39;
  fs.writeFileSync(log, bytes);
});

/** Reads the text format, without labels that differ from run to run. */
async function scrape(url: string) {
  const text = await (await fetch(`${url}/metrics`)).text();
  const values = new Map<string, number>();
  for (const line of text.split("\n").filter((each) => each !== "" && !each.startsWith("#"))) {
    const [, name = "", value] = /^(\S+?(?:\{.*\})?) (\S+)$/.exec(line) ?? [];
    assert.ok(Number.isFinite(Number(value)), line);
    values.set(name.replace("throughline_", ""), Number(value));
  }
  assert.ok(!text.includes(words));
  return values;
}

test("metrics say how large the home is by part, how long syncs take, what is damaged, and of the last backup", async (t) => {
  const home = await homeOf(t);
  const { url, stop } = await serveHere(t, home);
  let first = await scrape(url);
  const part = (name: string) => first.get(`home_bytes{part="${name}"}`) ?? -1;
  while (part("attachments") < 0) first = await scrape(url); // one who asks waits 250 ms for it
  assert.equal(part("attachments"), 3_000);
  for (const name of ["chats", "journal", "index"]) assert.ok(part(name) > 0, name);
  assert.equal(first.has("last_backup_time_seconds"), false);
  // Reading finds the damage.
  await fetch(`${url}/api/chats/b/messages`);
  await postTo(url, "/api/chats/a/messages", { content: "hello" });
  const before = Date.now();
  const directory = join(home, "..", "backup");
  assert.equal((await runCli(["backup", directory], { home })).code, 1);
  const later = await scrape(url);
  assert.equal(later.get("damaged_chats"), 1);
  assert.ok((later.get("sync_seconds_count") ?? 0) > 0);
  assert.ok((later.get("sync_seconds_sum") ?? 0) > 0);
  assert.equal(later.get("last_backup_whole"), 0);
  const made = (later.get("last_backup_time_seconds") ?? 0) * 1000;
  assert.ok(made >= before && made <= Date.now());
  assert.equal(fs.existsSync(join(directory, "last-backup.json")), false);
  await stop();
});

test("doctor names the damaged chat, the sizes, and the last backup with whether it is whole", async (t) => {
  const home = await homeOf(t);
  const doctor = async () => (await runCli(["doctor"], { home })).out;
  const first = await doctor();
  assert.match(first, /the home has .*chats .*attachments 3(\.0)? kB/);
  assert.match(first, /no backup is noted: throughline backup DIR makes one/);
  assert.match(first, /DAMAGED .*chats\/b/);
  await runCli(["backup", join(home, "..", "one")], { home });
  assert.match(await doctor(), /note +the last backup, in \S+one, was made at \S+, and something/);
  const [, id = ""] = /doctor --confirm (\w+)/.exec(first) ?? [];
  assert.equal(id === "", false, first);
  fs.rmSync(join(home, "chats", "b.jsonl"));
  await runCli(["sessions", "forget", "b", "--yes"], { home });
});

test("metrics count a provider's waits and errors", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  await using model = await openAiServer((n) =>
    n === 0 ? { status: 429, retryAfter: 0.01 } : n === 1 ? {} : { status: 400 },
  );
  const { url, stop } = await serveHere(t, home, ["--model", `${model.url}#m`]);
  for (let n = 0; n < 2; n++) await postTo(url, "/api/chats/a/messages", { content: words });
  const values = await scrape(url);
  const of = (name: string) => values.get(`provider_${name}_total{provider="openai-compatible"}`);
  assert.deepEqual([of("waits"), of("errors")], [1, 1]);
  assert.ok((of("wait_seconds") ?? -1) >= 0);
  await stop();
});

test("at its usual level the log of a server says that a chat was forgotten, and holds no word and no id of it", async (t) => {
  const home = await homeOf(t);
  const serve = new Process(t, ["serve", "--port", "0"], { home, variables: { LOG_LEVEL: "" } });
  const url = await serve.url();
  await fetch(`${url}/api/chats/c`, { method: "DELETE" });
  await fetch(`${url}/api/chats/nothing`, { method: "DELETE" });
  const { err } = await serve.kill("SIGTERM");
  const lines = err.split("\n").filter((line) => line.includes("a chat was forgotten"));
  assert.equal(lines.length, 1, err);
  const { level, chat_hash, removed, unreachable } = JSON.parse(lines[0] ?? "");
  assert.deepEqual([level, chat_hash.length, unreachable], [30, 64, 0]);
  assert.deepEqual([removed.transcript, removed.attachments], [2, 1]);
  assert.ok(!err.includes(words) && !lines[0]?.includes('"c"'));
});
