import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setImmediate as nextPass } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { homeFolder, openedHome } from "../../../../test/support/indexed-home.ts";
import { projection } from "../../../../test/support/storage-workload.ts";
import { type ErrorCode, isThroughlineError } from "../../errors.ts";
import { silentLogger } from "../../logger.ts";
import { type Lease, oncePerPass, takeLease } from "./lease.ts";
import { noteServer, serverOf } from "./lease-holder.ts";

const windows = process.platform === "win32" && "a home in use cannot be moved on Windows";

function temporaryHome(t: TestContext): string {
  const home = join(homeFolder(t), "home");
  fs.mkdirSync(home, { mode: 0o700 });
  return home;
}

/** Released at the end of the test, before its home is removed. */
function take(t: TestContext, home: string): Lease {
  const lease = takeLease(home);
  t.after(() => lease.release());
  return lease;
}

const since = "2026-01-01T00:00:00.000Z";
const note = (pid: unknown, host: unknown, url?: string) =>
  JSON.stringify({ pid, host, since, url });
const dead = spawnSync(process.execPath, ["--version"]).pid;

const code =
  (expected: ErrorCode, pattern = /./) =>
  (error: unknown) => {
    assert.ok(isThroughlineError(error, expected), String(error));
    assert.match(error.message, pattern);
    return true;
  };

test("a process cannot take a home twice, and is told that it is itself the holder", (t) => {
  const home = temporaryHome(t);
  const lease = take(t, home);
  for (const name of [home, `${home}/`, join(home, "..", "home")]) {
    const says = new RegExp(`process ${process.pid} \\(this process\\) on ${os.hostname()}`);
    assert.throws(() => takeLease(name), code("THROUGHLINE_LOCKED", says));
  }
  lease.check(); // the refusals did not free it
  assert.throws(() => takeLease(home), code("THROUGHLINE_LOCKED"));
});

test("a home that was released can be taken again; releasing twice is releasing once", (t) => {
  const home = temporaryHome(t);
  const first = take(t, home);
  first.release();
  assert.deepEqual(fs.readdirSync(home), ["lock.db"]);
  const second = take(t, home);
  first.release();
  second.check();
  assert.throws(() => takeLease(home), code("THROUGHLINE_LOCKED"));
  assert.throws(() => first.check(), code("THROUGHLINE_CLOSED"));
});

test("a lease that nobody refers to is not lost by garbage collection", (t) => {
  const home = temporaryHome(t);
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  takeLease(home);
  for (let i = 0; i < 5; i++) collect();
  assert.throws(() => takeLease(home), code("THROUGHLINE_LOCKED"));
});

test("lock.db and lock.json have mode 0600 under the umask 000 and the umask 777", {
  skip: process.platform === "win32" && "Windows has no modes of this form",
}, (t) => {
  for (const umask of [0o000, 0o777]) {
    const home = temporaryHome(t);
    const before = process.umask(umask);
    try {
      take(t, home);
    } finally {
      process.umask(before);
    }
    for (const name of ["lock.db", "lock.json"]) {
      assert.equal(fs.statSync(join(home, name)).mode & 0o777, 0o600, name);
    }
  }
});

test("lock.json names pid, host and the instant of a taken home, and nothing else is left", (t) => {
  const home = temporaryHome(t);
  const clock = { now: () => 1_700_000_000_000, monotonic: () => 0 };
  const lease = takeLease(home, { clock });
  t.after(() => lease.release());
  const written: unknown = JSON.parse(fs.readFileSync(join(home, "lock.json"), "utf8"));
  const expected = { pid: process.pid, host: os.hostname(), since: "2023-11-14T22:13:20.000Z" };
  assert.deepEqual(written, expected);
  assert.deepEqual(fs.readdirSync(home).sort(), ["lock.db", "lock.json"]);
});

test("lock.json names a server until the home is let go of, and the next holder's does not", (t) => {
  const home = temporaryHome(t);
  const server = { url: "http://127.0.0.1:7423", token_file: "/home/me/token" };
  assert.equal(noteServer(home, server), false, "this process does not hold it");
  const lease = take(t, home);
  assert.equal(serverOf(home), undefined);
  assert.equal(noteServer(home, server), true);
  assert.deepEqual(serverOf(home), server);
  assert.throws(() => takeLease(home), code("THROUGHLINE_LOCKED", /\(this process\)/));
  lease.release();
  assert.deepEqual(fs.readdirSync(home), ["lock.db"]);
  take(t, home);
  assert.equal(serverOf(home), undefined);
  fs.writeFileSync(join(home, "lock.json"), note(process.pid, os.hostname(), "file:///etc/passwd"));
  assert.equal(serverOf(home), undefined, "not an address of a server");
});

test("what a dead holder left names no server to others, also if it cannot be replaced", (t) => {
  const home = temporaryHome(t);
  fs.writeFileSync(join(home, "lock.json"), note(dead, os.hostname(), "http://127.0.0.1:7423"));
  assert.equal(serverOf(home), undefined);
  // A pid is used again: then only the new holder's own note tells.
  fs.writeFileSync(
    join(home, "lock.json"),
    note(process.pid, os.hostname(), "http://127.0.0.1:7423"),
  );
  t.mock.method(fs, "writeSync", () => {
    throw Object.assign(new Error("full"), { code: "ENOSPC" });
  });
  take(t, home);
  assert.equal(serverOf(home), undefined);
});

test("a note of a dead holder, also a link planted in its place, keeps nobody out", (t) => {
  const home = temporaryHome(t);
  const outside = join(home, "..", "outside");
  fs.writeFileSync(outside, "untouched");
  fs.symlinkSync(outside, join(home, "lock.json"));
  take(t, home).check();
  assert.equal(fs.readFileSync(outside, "utf8"), "untouched");
  assert.ok(fs.lstatSync(join(home, "lock.json")).isFile());
});

for (const [what, text] of [
  ["is empty", ""],
  ["is cut off", "{"],
  ["is null", "null"],
  ["has a text for a pid", note("1", "elsewhere")],
  ["has the pid 0", note(0, "elsewhere")],
  ["has no host", note(1, undefined)],
  ["is of a process that died", note(dead, os.hostname())],
  ["is 5,000 bytes long", note(1, "x".repeat(5_000))],
] as const) {
  test(`somebody is refused without a name when the holder's note ${what}`, (t) => {
    const home = temporaryHome(t);
    take(t, home);
    fs.writeFileSync(join(home, "lock.json"), text);
    assert.throws(
      () => takeLease(home),
      code("THROUGHLINE_LOCKED", /^another process is the writer of /),
    );
  });
}

test("a holder on another machine, whose pid means nothing here, is named from its note", (t) => {
  const home = temporaryHome(t);
  take(t, home);
  fs.writeFileSync(join(home, "lock.json"), note(dead, "elsewhere"));
  assert.throws(
    () => takeLease(home),
    code("THROUGHLINE_LOCKED", new RegExp(`^process ${dead} on elsewhere .* since ${since}`)),
  );
});

test("a note that cannot be written is a warning: the home is held all the same", (t) => {
  const home = temporaryHome(t);
  fs.mkdirSync(join(home, "lock.json"));
  const said: string[] = [];
  const logger = { ...silentLogger, warn: (_: object, message: string) => said.push(message) };
  const lease = takeLease(home, { logger });
  t.after(() => lease.release());
  lease.check();
  assert.match(said.join(), /lock\.json was not written/);
  assert.throws(() => takeLease(home), code("THROUGHLINE_LOCKED"));
});

type Loss = (home: string) => void;
const losses: readonly (readonly [what: string, code: ErrorCode, lose: Loss, undo?: Loss])[] = [
  ["lock.db was removed", "THROUGHLINE_LOCKED", (home) => fs.unlinkSync(join(home, "lock.db"))],
  [
    "lock.db was replaced",
    "THROUGHLINE_LOCKED",
    (home) => {
      fs.writeFileSync(join(home, "new"), "", { mode: 0o600 });
      fs.renameSync(join(home, "new"), join(home, "lock.db"));
    },
  ],
  [
    "the home was renamed",
    "THROUGHLINE_UNAVAILABLE",
    (home) => fs.renameSync(home, `${home}-moved`),
    (home) => fs.renameSync(`${home}-moved`, home),
  ],
  [
    "the home was replaced by a copy",
    "THROUGHLINE_UNAVAILABLE",
    (home) => {
      fs.renameSync(home, `${home}-moved`);
      fs.cpSync(`${home}-moved`, home, { recursive: true });
    },
    (home) => {
      fs.rmSync(home, { recursive: true });
      fs.renameSync(`${home}-moved`, home);
    },
  ],
];
for (const [what, expected, lose, undo] of losses) {
  test(`the holder notices before its next commit that ${what}, and stays stopped`, {
    skip: windows,
  }, (t) => {
    const home = temporaryHome(t);
    const lease = take(t, home);
    lease.check();
    lose(home);
    assert.throws(() => lease.check(), code(expected));
    undo?.(home);
    assert.throws(() => lease.check(), code(expected));
  });
}

test("a holder that lost its home to another leaves the other's note alone", (t) => {
  const home = temporaryHome(t);
  const first = take(t, home);
  fs.unlinkSync(join(home, "lock.db"));
  const second = take(t, home);
  first.release();
  assert.ok(fs.existsSync(join(home, "lock.json")));
  second.check();
  assert.throws(() => takeLease(home), code("THROUGHLINE_LOCKED"));
});

test("a lock file with bytes that are not SQLite's gives no lock, and can be moved away", (t) => {
  const home = temporaryHome(t);
  fs.writeFileSync(join(home, "lock.db"), "x".repeat(5000), { mode: 0o600 });
  assert.throws(() => takeLease(home), code("THROUGHLINE_CONFIGURATION", /lock\.db.*move it out/));
});

test("the home is looked at once in each pass of the event loop, again after 10 ms of one, and each time after a failure", async () => {
  let looks = 0;
  let now = 5_000;
  let failure: Error | undefined;
  const look = oncePerPass(
    () => {
      looks++;
      if (failure !== undefined) throw failure;
    },
    () => now,
  );
  for (let pass = 1; pass <= 3; pass++) {
    look();
    now += 9.9;
    look();
    await Promise.resolve();
    look();
    assert.equal(looks, pass);
    await nextPass();
  }
  look();
  now += 10;
  failure = new Error("moved away");
  for (let time = 1; time <= 2; time++) assert.throws(look, /moved away/);
  failure = undefined;
  look();
  assert.equal(looks, 7);
});

test("once lock.db is gone nothing is written any more, from the next pass of the event loop on", async (t) => {
  const { home, storage } = await openedHome(t);
  const logs = storage.logs("chats", projection);
  const documents = storage.documents("session");
  for (const id of ["m1", "m2", "m3"]) await logs.append("a", [{ id }]);
  await documents.write("state", { n: 1 });
  const files = () =>
    ["chats/a.jsonl", "session/state.json"].map((name) =>
      fs.readFileSync(join(home, name), "latin1"),
    );
  const before = files();
  await nextPass();
  fs.rmSync(join(home, "lock.db"));
  const refused = { code: "THROUGHLINE_LOCKED", message: /lock\.db was removed or replaced/ };
  await assert.rejects(logs.append("a", [{ id: "m4" }]), refused);
  await assert.rejects(logs.append("b", [{ id: "m1" }]), refused);
  await assert.rejects(logs.erase("a", ["m1"]), refused);
  await assert.rejects(logs.delete("a"), refused);
  await assert.rejects(documents.write("state", { n: 2 }), refused);
  await storage.close();
  assert.deepEqual(files(), before);
  assert.equal(
    fs.readdirSync(join(home, "journal")).length,
    1,
    "it belongs to another process now",
  );
});
