// A process whose home was taken from under it: the lock file is gone, so another process can be the writer.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setImmediate as nextPass } from "node:timers/promises";
import { projection } from "../../../../test/support/storage-workload.ts";
import { openFileStorage } from "./open-file-storage.ts";

test("once lock.db is gone nothing is written any more, from the next pass of the event loop on", async (t) => {
  const home = mkdtempSync(join(tmpdir(), "throughline-lost-"));
  const storage = await openFileStorage({ home });
  t.after(async () => {
    await storage.close();
    rmSync(home, { recursive: true });
  });
  const logs = storage.logs("chats", projection);
  const documents = storage.documents("session");
  for (const id of ["m1", "m2", "m3"]) await logs.append("a", [{ id }]);
  await documents.write("state", { n: 1 });
  const files = () =>
    ["chats/a.jsonl", "session/state.json"].map((name) => readFileSync(join(home, name), "latin1"));
  const before = files();
  await nextPass();
  rmSync(join(home, "lock.db"));
  const refused = { code: "THROUGHLINE_LOCKED", message: /lock\.db was removed or replaced/ };
  await assert.rejects(logs.append("a", [{ id: "m4" }]), refused);
  await assert.rejects(logs.append("b", [{ id: "m1" }]), refused);
  await assert.rejects(logs.erase("a", ["m1"]), refused);
  await assert.rejects(logs.delete("a"), refused);
  await assert.rejects(documents.write("state", { n: 2 }), refused);
  await storage.close();
  assert.deepEqual(files(), before);
  assert.equal(readdirSync(join(home, "journal")).length, 1, "it belongs to another process now");
});
