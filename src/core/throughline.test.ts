import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { startCompanion } from "../companion/start-companion.ts";
import { startMoments } from "../moments/start-moments.ts";
import { openThroughline } from "./throughline.ts";

test("what was asked for before a close is finished; what comes after is refused", async (t) => {
  const home = mkdtempSync(join(tmpdir(), "throughline-close-"));
  t.after(() => rmSync(home, { recursive: true }));
  const first = await openThroughline({ home });
  await first.chats.append("a", [{ role: "user", content: "before" }]);
  const pending = [
    first.chats.append("a", [{ role: "user", content: "Hello" }]),
    first.chats.append("b", [{ role: "user", content: "Hello" }]),
    first.chats.append("a", [{ role: "user", content: "again" }]),
    first.sessions.reset("c"),
  ];
  const closing = first.close();
  assert.equal(first.close(), closing, "closing twice is closing once");
  await closing;
  await Promise.all(pending);
  await assert.rejects(first.chats.append("a", [{ role: "user", content: "late" }]), {
    code: "THROUGHLINE_CLOSED",
  });
  await using next = await openThroughline({ home });
  const { messages } = await next.chats.messages("a", { limit: 10 });
  assert.deepEqual(
    messages.map(({ content }) => content),
    ["before", "Hello", "again"],
  );
  assert.equal((await next.sessions.active("c"))?.generation, 1);
});

test("a companion and moments are refused once it is closed", async (t) => {
  const home = mkdtempSync(join(tmpdir(), "throughline-close-"));
  t.after(() => rmSync(home, { recursive: true }));
  const throughline = await openThroughline({ home });
  await throughline.close();
  const options = { sessionId: "0a63cda9", software: { name: "test", version: "1" } };
  await assert.rejects(startCompanion(throughline), { code: "THROUGHLINE_CLOSED" });
  await assert.rejects(startMoments(throughline, options), { code: "THROUGHLINE_CLOSED" });
});

test("a process that has nothing else to do waits until its companion has begun", () => {
  const url = (path: string) => JSON.stringify(pathToFileURL(join(import.meta.dirname, path)));
  const script = `
    const { openThroughline } = await import(${url("throughline.ts")});
    const { startCompanion } = await import(${url("../companion/start-companion.ts")});
    const { openMemoryStorage } = await import(${url("storage/memory/memory-storage.ts")});
    const { MemoryPlace } = await import(${url("storage/memory/memory-place.ts")});
    const storage = openMemoryStorage({ place: new MemoryPlace() });
    const throughline = await openThroughline({ storage });
    await startCompanion(throughline);
    await throughline.close();
    process.stdout.write("closed");`;
  const args = ["--input-type=module", "--eval", script];
  const { status, stdout } = spawnSync(process.execPath, args, { timeout: 20_000 });
  assert.deepEqual([status, String(stdout)], [0, "closed"]);
});
