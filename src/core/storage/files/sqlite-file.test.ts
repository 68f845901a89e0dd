import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { openIndexFile, replaceByCopy, replaceIndexFile } from "./sqlite-file.ts";

const notRoot = process.getuid?.() !== 0 && "only root can give a file away";

function temporaryPath(t: TestContext): string {
  const home = fs.mkdtempSync(join(os.tmpdir(), "throughline-index-"));
  t.after(() => fs.rmSync(home, { recursive: true, force: true }));
  return join(home, "index.db");
}

test("the copy that takes the place of an index gets no journal of the file before", (t) => {
  const path = temporaryPath(t);
  replaceIndexFile(path)?.database.close();
  // A second connection, as a failed checkpoint would, keeps the journal when the first is closed.
  const connections = [new DatabaseSync(path), new DatabaseSync(path)] as const;
  for (const each of connections)
    each.exec("pragma journal_mode = wal; update state set clean = 1");
  connections[0].exec("update state set owed = 5");
  replaceByCopy(path, connections[0]);
  assert.ok(!fs.existsSync(`${path}-wal`));
  connections[1].close();
  const copy = openIndexFile(path);
  assert.deepEqual({ ...copy?.sql.state.get() }, { clean: 1, owed: 0 });
  copy?.database.close();
  assert.deepEqual(fs.readdirSync(join(path, "..")), ["index.db"]);
});

test("an index of another user is not opened", { skip: notRoot }, (t) => {
  const path = temporaryPath(t);
  replaceIndexFile(path)?.database.close();
  fs.chownSync(path, 65534, 65534);
  assert.equal(openIndexFile(path), undefined);
});

test("an index that another process has open is not opened", (t) => {
  const path = temporaryPath(t);
  const holder = replaceIndexFile(path);
  holder?.database.exec("begin immediate");
  assert.equal(openIndexFile(path), undefined);
  holder?.database.close();
});

test("a pipe in the place of an index's journal keeps no start waiting", {
  skip: process.platform === "win32",
}, (t) => {
  const path = temporaryPath(t);
  replaceIndexFile(path)?.database.close();
  execFileSync("mkfifo", [`${path}-journal`]);
  // In a process of its own, which waiting for the other end of the pipe would hold for good.
  const source = `
    import { openIndexFile } from ${JSON.stringify(import.meta.resolve("./sqlite-file.ts"))};
    process.exitCode = openIndexFile(${JSON.stringify(path)}) === undefined ? 0 : 1;
  `;
  const script = ["--input-type=module", "--eval", source];
  assert.equal(spawnSync(process.execPath, script, { timeout: 10_000 }).status, 0);
  replaceIndexFile(path)?.database.close();
  assert.deepEqual(fs.readdirSync(join(path, "..")), ["index.db"]);
});
