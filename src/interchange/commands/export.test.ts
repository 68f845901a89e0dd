// What an export leaves when it is interrupted, and when it is killed.
import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fakeIo, Process, runCli, temporaryDirectory } from "../../../test/support/command-line.ts";
import { systemError } from "../../../test/support/system-error.ts";
import { openThroughline } from "../../core/throughline.ts";

/** A home with a chat that takes a while to write, and a folder to write it into. */
async function longChat(t: TestContext) {
  const folder = temporaryDirectory(t);
  const home = join(folder, "home");
  const out = join(folder, "out");
  fs.mkdirSync(out);
  await using throughline = await openThroughline({ home });
  for (let batch = 0; batch < 4; batch++) {
    const said = (_: unknown, n: number) =>
      ({ role: "user", content: `line ${batch} ${n}` }) as const;
    await throughline.chats.append("local:me", Array.from({ length: 400 }, said));
  }
  return { home, out };
}

/** Calls back once, as soon as something lies in the folder. */
function whenFilled(t: TestContext, folder: string, then: () => void): void {
  const timer = setInterval(() => {
    if (fs.readdirSync(folder).length === 0) return;
    clearInterval(timer);
    then();
  }, 1);
  t.after(() => clearInterval(timer));
}

const exports = [
  [["export", "--format", "throughline", "--out", "."], "local_me.jsonl"],
  [["sessions", "export", "local:me", "--out", "me.jsonl"], "me.jsonl"],
] as const;

for (const [args] of exports) {
  test(`Ctrl-C in the middle of ${args.join(" ")} ends it with 130 and leaves no file`, async (t) => {
    const { home, out } = await longChat(t);
    const io = fakeIo();
    whenFilled(t, out, () => io.signal("SIGINT"));
    const line = [...args.slice(0, -1), join(out, args.at(-1) ?? "")];
    const { code, out: said } = await runCli(line, { home, io });
    assert.deepEqual({ code, said }, { code: 130, said: "" }, io.errors.text);
    assert.deepEqual(fs.readdirSync(out), []);
    assert.deepEqual(io.exits, []);
    assert.equal((await runCli(line, { home })).code, 0);
    assert.equal(fs.readdirSync(out).length, 1);
  });
}

for (const [args, name] of exports) {
  test(`what a killed ${args[0]} left is no file of that name, and is removed by the next one, and nothing else`, async (t) => {
    const { home, out } = await longChat(t);
    const line = [...args.slice(0, -1), join(out, args.at(-1) ?? "")];
    const killed = new Process(t, line, { home });
    whenFilled(t, out, () => killed.child.kill("SIGKILL"));
    await killed.ended();
    const [left = ""] = fs.readdirSync(out);
    const of = (pid: number | undefined, end = ".tmp") =>
      `.throughline-export-${pid}-0123456789abcdefgh${end}`;
    const { pid } = killed.child;
    assert.match(left, new RegExp(`^\\.throughline-export-${pid}-[0-9a-z]{18}\\.tmp$`));
    const others = [".0123456789abcdefgh.tmp", of(process.ppid), of(pid, ".bak")];
    for (const name of others) fs.writeFileSync(join(out, name), "mine");
    fs.mkdirSync(join(out, of(pid)));
    // A container gives each run the same number.
    fs.writeFileSync(join(out, of(process.pid)), "left");
    const { code, err } = await runCli(line, { home });
    assert.equal(code, 0, err);
    assert.deepEqual(fs.readdirSync(out).sort(), [...others, of(pid), name].sort());
  });
}

test("where a file system has no links a file is written, and none is overwritten", async (t) => {
  const { home, out } = await longChat(t);
  const link = async () => {
    throw systemError("EPERM", { name: "link" });
  };
  t.mock.method(fs.promises, "link", link);
  // A copy has the name before it is whole.
  t.mock.method(fs.promises, "copyFile", () => assert.fail());
  const line = ["sessions", "export", "local:me", "--out", join(out, "me.jsonl")];
  assert.equal((await runCli(line, { home })).code, 0);
  const written = fs.readFileSync(join(out, "me.jsonl"), "utf8");
  assert.equal(written, (await runCli(line.slice(0, 3), { home })).out);
  const { code, err } = await runCli(line, { home });
  assert.deepEqual([code, fs.readdirSync(out)], [1, ["me.jsonl"]]);
  assert.match(err, /already exists.*another --out\. Nothing/s);
  const all = ["export", "--format", "throughline", "--out", out];
  fs.writeFileSync(join(out, "local_me.jsonl"), "");
  assert.match((await runCli(all, { home })).err, /--force to overwrite/);
});

for (const [args, name] of exports) {
  test(`what others left in a folder and nobody may list or remove fails no ${args[0]}`, async (t) => {
    const { home, out } = await longChat(t);
    const line = [...args.slice(0, -1), join(out, args.at(-1) ?? "")];
    const { rm, readdir } = fs.promises;
    const left = join(out, `.throughline-export-${process.pid}-0123456789abcdefgh.tmp`);
    fs.writeFileSync(left, "of another user");
    const removing = t.mock.method(fs.promises, "rm", async (path: string, options: object) => {
      if (path === left) throw systemError("EPERM", { name: "unlink", path });
      await rm(path, options);
    });
    assert.equal((await runCli(line, { home })).code, 0);
    assert.equal(fs.existsSync(join(out, name)), true);
    removing.mock.restore();
    fs.rmSync(join(out, name));
    t.mock.method(fs.promises, "readdir", async (path: string, options: object) => {
      if (path === out) throw systemError("EACCES", { name: "scandir", path });
      return readdir(path, options);
    });
    const { code, err } = await runCli(line, { home });
    assert.deepEqual([code, fs.existsSync(join(out, name))], [0, true], err);
  });
}

test("a name that no file can have is said to be that, and leaves nothing", async (t) => {
  const { home, out } = await longChat(t);
  for (const name of ["x".repeat(300), "new/"]) {
    const path = `${out}/${name}`;
    const { code, err } = await runCli(["sessions", "export", "local:me", "--out", path], { home });
    assert.equal(code, 1);
    assert.match(err, /cannot be written: .*\[THROUGHLINE_CONFIGURATION\]\nPass another --out/);
    assert.deepEqual(fs.readdirSync(out), []);
  }
});
