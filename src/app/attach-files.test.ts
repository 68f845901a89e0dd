import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fakeIo, temporaryDirectory } from "../../test/support/command-line.ts";
import { png } from "../../test/support/sample-files.ts";
import { AttachedFiles } from "./attach-files.ts";

function folder(t: TestContext): string {
  const path = temporaryDirectory(t);
  writeFileSync(join(path, "cat.png"), png.bytes);
  writeFileSync(join(path, "my notes.md"), "# Tea");
  mkdirSync(join(path, "folder"));
  return path;
}

/** Types lines. @returns what was said, and the files that are attached then. */
async function typed(lines: readonly string[]) {
  const io = fakeIo();
  const attached = new AttachedFiles(io);
  for (const line of lines) assert.equal(await attached.run(line), true, line);
  return { said: io.errors.text, files: attached.files.map(({ name }) => name), attached };
}

test("/attach adds files to the next message, lists them, and /detach takes them back", async (t) => {
  const path = folder(t);
  const { said, files, attached } = await typed([
    "/attach",
    `/attach ${path}/cat.png`,
    `/attach '${path}/my notes.md'`,
    `/ATTACH ${path}/my\\ notes.md `,
    "/attach",
  ]);
  assert.deepEqual(files, ["cat.png", "my notes.md", "my notes.md"]);
  assert.equal(
    said,
    `No files are attached. /attach PATH adds one to your next message.
cat.png (70 B) is attached. It goes with your next message.
my notes.md (5 B) is attached. 2 files go with your next message.
my notes.md (5 B) is attached. 3 files go with your next message.
Attached to your next message: cat.png (70 B), my notes.md (5 B), my notes.md (5 B). /detach takes them back.
`,
  );
  assert.deepEqual(attached.files[0]?.bytes, Buffer.from(png.bytes));
  await attached.run("/detach");
  assert.deepEqual(attached.files, []);
});

test("what cannot be attached is said, and nothing is attached; at most 10 files are", async (t) => {
  const path = folder(t);
  writeFileSync(join(path, "big"), new Uint8Array(20 * 1024 * 1024 + 1));
  const none = ["none.png", "folder", "big"].map((name) => `/attach ${path}/${name}`);
  const { said, files } = await typed([...none, "/detach"]);
  assert.deepEqual(files, []);
  const tooMuch = "(Not attached: a message takes at most 10 files, and 20 MiB in all.)\n";
  assert.equal(
    said,
    `(Not attached: ${path}/none.png: no such file or directory (ENOENT).)
(Not attached: it is not a regular file.)
${tooMuch}No files are attached. /attach PATH adds one to your next message.
`,
  );
  const many = await typed(Array(11).fill(`/attach ${path}/cat.png`));
  assert.equal(many.files.length, 10);
  assert.ok(many.said.endsWith(tooMuch));
});

test("other lines are passed over", async () => {
  const attached = new AttachedFiles(fakeIo());
  for (const line of ["hello", "/attachment x", " /attach x", "attach x", "/new"]) {
    assert.equal(await attached.run(line), false, line);
  }
});
