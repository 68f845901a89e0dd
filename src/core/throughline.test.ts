import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { changed } from "../../test/support/changed.ts";
import { temporaryDirectory } from "../../test/support/command-line.ts";
import { openThroughline } from "../index.ts";
import { openFileStorage } from "./storage/files/open-file-storage.ts";
import { openMemoryStorage } from "./storage/memory/memory-storage.ts";
import type { ThroughlineOptions } from "./throughline.ts";

test("what was asked for before a close is finished; what comes after is refused", async (t) => {
  const home = temporaryDirectory(t);
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
  assert.equal(messages.map(({ content }) => content).join(), "before,Hello,again");
  assert.equal((await next.sessions.active("c"))?.generation, 1);
});

for (const fails of [false, true]) {
  test(`the working memory is empty after a close${fails ? " that failed" : ""}`, async () => {
    const storage = openMemoryStorage();
    const close = fails ? () => Promise.reject(new Error("stuck")) : () => storage.close();
    const throughline = await openThroughline({ storage: changed(storage, { close }) });
    await throughline.chats.append("a", [{ role: "user", content: "Hello" }]);
    const memory = throughline.workingMemory.of("a");
    assert.equal(memory.count, 1);
    const closing = throughline.close();
    await (fails ? assert.rejects(closing, /stuck/) : closing);
    assert.equal(memory.count, 0);
  });
}

/** As JavaScript may give them. */
const anyOptions = (options: unknown) => options as ThroughlineOptions;

/** Counts the syncs of files from here on, on whichever thread. */
function syncsOf(t: TestContext): () => number {
  const here = t.mock.method(fs, "fdatasyncSync").mock;
  const elsewhere = t.mock.method(fs, "fdatasync").mock;
  return () => here.callCount() + elsewhere.callCount();
}

const syncs = [
  [{}, "before it resolves"],
  [{ durability: "power-cut" }, "before it resolves"],
  [{ durability: "process" }, "not"],
] as const;
for (const [given, isSynced] of syncs) {
  const named = "durability" in given ? `durability ${given.durability}` : "no durability";
  test(`with ${named} an append is synced ${isSynced}`, async (t) => {
    const home = temporaryDirectory(t);
    await using throughline = await openThroughline(anyOptions({ home, ...given }));
    const append = () => throughline.chats.append("a", [{ role: "user", content: "Hello" }]);
    await append();
    const count = syncsOf(t);
    await append();
    await append();
    assert.equal(count(), isSynced === "not" ? 0 : 2);
  });

  test(`with ${named} a file storage syncs ${isSynced}`, async (t) => {
    const options = { home: temporaryDirectory(t), ...given } as Parameters<
      typeof openFileStorage
    >[0];
    await using storage = await openFileStorage(options);
    const logs = storage.logs("any", {
      sortedAt: () => "",
      labels: () => [],
      text: () => undefined,
      hides: () => undefined,
    });
    await logs.append("a", [{ id: "1" }]);
    const count = syncsOf(t);
    await logs.append("a", [{ id: "2" }]);
    assert.equal(count(), isSynced === "not" ? 0 : 1);
  });
}

test("a durability that there is not is refused before anything is opened", async (t) => {
  for (const durability of [null, "power_cut", "Process", "", true, 1]) {
    const home = join(temporaryDirectory(t), "home");
    const refused = { code: "THROUGHLINE_CONFIGURATION", message: /^durability must be / };
    await assert.rejects(openThroughline(anyOptions({ home, durability })), refused);
    await assert.rejects(openFileStorage({ home, durability: durability as "process" }), refused);
    assert.ok(!fs.existsSync(home));
    const storage = openMemoryStorage();
    await assert.rejects(openThroughline(anyOptions({ storage, durability })), refused);
  }
});
