// At level "process" a power cut can take any batch, so that every log is read after one: once in each boot
// of the machine, and not after every process that died.
import assert from "node:assert/strict";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { projection } from "../../../../test/support/storage-workload.ts";
import { systemClock } from "../../clock.ts";
import { openFileStorage } from "./open-file-storage.ts";

function temporaryHome(t: TestContext): string {
  const home = fs.mkdtempSync(join(tmpdir(), "throughline-boot-"));
  t.after(() => fs.rmSync(home, { recursive: true, force: true }));
  return home;
}

function openIn(home: string, boot: string | undefined) {
  const clock = { ...systemClock, bootId: () => boot };
  return openFileStorage({ home, durability: "process", clock });
}

/** The home as it is after a process of that boot was killed. @param home that of the process before it. */
async function killed(t: TestContext, home: string, boot: string | undefined): Promise<string> {
  const left = temporaryHome(t);
  const append = async (storage: Awaited<ReturnType<typeof openIn>>) => {
    const logs = storage.logs("chats", projection);
    const id = `m${((await logs.tail("a", 0))?.seq ?? 0) + 1}`;
    await logs.append("a", [{ id, content: `words of ${id}` }]);
  };
  const before = await openIn(home, boot);
  await append(before);
  await before.close(); // the index has all of it, and no log has to be compared
  await using storage = await openIn(home, boot);
  await append(storage);
  fs.cpSync(home, left, { recursive: true });
  return left;
}

/** Whether a start notices that a byte of the first batch is another one. */
async function isVerified(
  t: TestContext,
  home: string,
  boot: string | undefined,
): Promise<boolean> {
  const copy = temporaryHome(t);
  fs.cpSync(home, copy, { recursive: true });
  const path = join(copy, "chats", "a.jsonl");
  const bytes = fs.readFileSync(path);
  bytes.writeUInt8(0x21, bytes.indexOf("words of m1"));
  fs.writeFileSync(path, bytes);
  await using storage = await openIn(copy, boot);
  await storage.logs("chats", projection).list({ limit: 1 });
  return storage.repairs().some(({ kind }) => kind === "damaged_middle");
}

test("what a killed process left is not verified in the same boot, and is in another one", async (t) => {
  const home = await killed(t, await killed(t, temporaryHome(t), "one"), "one");
  assert.equal(await isVerified(t, home, "one"), false);
  assert.equal(await isVerified(t, home, "two"), true);
});

test("a start that verified every log is the only one of its boot that does", async (t) => {
  const before = await killed(t, temporaryHome(t), "one");
  const home = await killed(t, before, "two");
  assert.equal(await isVerified(t, home, "two"), false);
  assert.equal(await isVerified(t, home, "three"), true);
});

test("a start that did not get to verify every log leaves that to the next of its boot", async (t) => {
  const before = await killed(t, await killed(t, temporaryHome(t), "one"), "one");
  const left = temporaryHome(t);
  const storage = await openIn(before, "two");
  fs.cpSync(before, left, { recursive: true });
  await storage.close();
  assert.equal(await isVerified(t, left, "two"), true);
});

test("where nobody knows the boot, what a killed process left is verified", async (t) => {
  const home = await killed(t, await killed(t, temporaryHome(t), undefined), undefined);
  assert.equal(await isVerified(t, home, undefined), true);
});
