// Whether a server can store anything is another question than whether it lives.
import assert from "node:assert/strict";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { openMemoryStorage } from "../src/core/storage/memory/memory-storage.ts";
import type { Storage } from "../src/core/storage/storage.ts";
import { openThroughline } from "../src/core/throughline.ts";
import { fakeIo, runCli, temporaryDirectory } from "./support/command-line.ts";
import { type DiskFault, faultyDisk } from "./support/faulty-disk.ts";
import { companion, jsonOf, me, problemOf, words } from "./support/server-fixture.ts";
import { SimulatedDisk } from "./support/simulated-disk.ts";
import { openOn } from "./support/storage-workload.ts";

const token = "Zk3vQ9xT1mB7wYc5RdH0sLgE8uNpA2jFoIyXqVtMaeK";

async function serving(t: TestContext, storage: Storage) {
  const throughline = await openThroughline({ storage, provider: "scripted", model: "m" });
  const c = await companion([["Hi"]], { throughline });
  t.after(() => throughline.close());
  return c;
}

test("a server that can store is ready, says so without a token, and leaves nothing behind", async (t) => {
  const open = await companion([], { token });
  assert.deepEqual(await open.get("/readyz"), { status: "ready" });
  const home = temporaryDirectory(t);
  const throughline = await openThroughline({ home });
  t.after(() => throughline.close());
  const c = await companion([], { throughline });
  const before = [...readdirSync(home), "journal"].sort();
  assert.deepEqual(await c.get("/readyz"), { status: "ready" });
  assert.deepEqual(readdirSync(home).sort(), before, "nothing but the journal's own folder");
});

const sync = { fault: "EIO", call: ["sync", "syncDirectory"] } as const;
const full = { fault: "ENOSPC", call: "write" } as const;
const noJournal = { fault: "EIO", call: ["write", "open"], path: /journal/ } as const;
const cannot = "the journal cannot be written";
for (const [says, fault, detail] of [
  ["a sync fails", sync, "the disk refuses what is stored (EIO)"],
  ["the disk is full", full, "the disk is full"],
  ["only its journal cannot be written", noJournal, cannot],
] as const satisfies readonly (readonly [string, Omit<DiskFault, "at">, string])[]) {
  test(`a server is not ready while ${says}; it lives, and what was said is read`, async (t) => {
    let isBroken = false;
    const disk = faultyDisk(new SimulatedDisk(), {
      ...fault,
      repeat: "forever",
      get at() {
        return isBroken ? 1 : Number.POSITIVE_INFINITY;
      },
    });
    const c = await serving(t, (await openOn(disk)).storage);
    await jsonOf(await c.say("Hello"), 200);
    isBroken = true;
    const problem = await problemOf(await c.ask("/readyz"), 503, "THROUGHLINE_UNAVAILABLE");
    assert.equal(problem.detail, detail);
    assert.equal((await c.get("/healthz")).status, "ok");
    assert.equal((await c.say("Are you there?")).status, 503);
    const { messages } = await c.get(`${me}/messages`);
    assert.deepEqual(words(messages), ["user: Hello", "assistant: Hi"]);
    isBroken = false;
    c.clock.pass(2_000);
    assert.deepEqual(await c.get("/readyz"), { status: "ready" });
  });
}

test("asking often whether it is ready writes to the disk once in 2 s", async (t) => {
  let asked = 0;
  const storage = openMemoryStorage();
  storage.ready = async () => void asked++;
  const c = await serving(t, storage);
  await Promise.all(Array.from({ length: 20 }, () => c.get("/readyz")));
  assert.equal(asked, 1);
  c.clock.pass(2_000);
  await c.get("/readyz");
  assert.equal(asked, 2);
});

test("a server whose home was taken is not ready", async (t) => {
  const home = temporaryDirectory(t);
  const throughline = await openThroughline({ home });
  t.after(() => throughline.close().catch(() => undefined));
  const c = await companion([], { throughline });
  rmSync(join(home, "lock.db"));
  const problem = await problemOf(await c.ask("/readyz"), 503, "THROUGHLINE_LOCKED");
  assert.equal(problem.detail, "this process is no longer the writer of its home");
  assert.equal((await c.get("/healthz")).status, "ok");
});

test("serve ends by itself, with 1, once its home was taken", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const io = fakeIo();
  const ended = runCli(["serve", "--port", "0"], { home, io });
  await io.output.has("listening");
  rmSync(join(home, "lock.db"));
  const { code, err } = await ended;
  assert.equal(code, 1);
  assert.match(err, /lock\.db was removed or replaced: this process stops writing/);
  assert.match(err, /THROUGHLINE_LOCKED/);
  assert.match(err, /start the server again/);
});
