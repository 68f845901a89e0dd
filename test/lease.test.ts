import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { takeLease } from "../src/core/storage/files/lease.ts";
import { Child, temporaryDirectory } from "./support/command-line.ts";

interface Answer {
  readonly held: boolean;
  readonly code?: string;
  readonly message?: string;
  /** From the call to its answer. */
  readonly ms: number;
}

const noSignals = process.platform === "win32" && "Windows has no SIGSTOP, and keeps names in use";

/** Another process that tries to take the home. */
class Contender extends Child {
  readonly #lines = this.lines();

  constructor(t: TestContext, home: string) {
    super(t, process.execPath, [join(import.meta.dirname, "support/take-lease.ts"), home], {});
  }

  async answer(): Promise<Answer> {
    const { value, done } = await this.#lines.next();
    assert.ok(!done, "the process ended without an answer");
    return JSON.parse(value) as Answer;
  }

  check(): Promise<Answer> {
    this.child.stdin.write("check\n");
    return this.answer();
  }
}

function temporaryHome(t: TestContext): string {
  const home = join(temporaryDirectory(t), "home");
  fs.mkdirSync(home, { mode: 0o700 });
  return home;
}

function assertRefusedBy(pid: number | undefined, answer: Answer): void {
  assert.equal(answer.held, false);
  assert.equal(answer.code, "THROUGHLINE_LOCKED");
  assert.ok(answer.message?.includes(`process ${pid} on ${os.hostname()} `), answer.message);
  assert.ok(answer.ms < 1_000, `refused after ${answer.ms} ms`);
}

const rounds = process.env["THROUGHLINE_FULL"] === "1" ? 6 : 2;
test(`of two processes started at once, ${rounds} times, exactly one gets the home, and the other names it`, async (t) => {
  const home = temporaryHome(t);
  for (let round = 0; round < rounds; round++) {
    const both = [new Contender(t, home), new Contender(t, home)] as const;
    const [a, b] = await Promise.all([both[0].answer(), both[1].answer()]);
    assert.notEqual(a.held, b.held, `round ${round}`);
    assertRefusedBy(both[a.held ? 0 : 1].child.pid, a.held ? b : a);
    await Promise.all(both.map((process) => process.ended("")));
  }
});

/** Whether another process has the lock. This one must not. */
function isLocked(path: string): boolean {
  const database = new DatabaseSync(path);
  try {
    database.exec("begin exclusive");
    return false;
  } catch {
    return true;
  } finally {
    database.close();
  }
}

test("who is refused because somebody has the lock for a moment asks again, and gets the home", async (t) => {
  const home = temporaryHome(t);
  const path = join(home, "lock.db");
  takeLease(home).release();
  const hold = `const { DatabaseSync } = require("node:sqlite");
    const database = new DatabaseSync(process.argv[1]);
    database.exec("begin exclusive");
    console.log("held");
    setTimeout(() => database.close(), 30);`;
  // On a busy machine a moment may be over before it is asked, or outlast the asking: then there is another one.
  for (let tries = 1; ; tries++) {
    const child = spawn(process.execPath, ["-e", hold, path]);
    const closed = once(child, "close");
    t.after(() => child.kill("SIGKILL"));
    await once(child.stdout, "data");
    try {
      if (isLocked(path)) return takeLease(home).release();
    } catch (error) {
      if (tries >= 6) throw error;
    }
    assert.ok(tries < 20, "no process had the lock when it was asked for");
    await closed;
  }
});

test("a stopped holder keeps the home, and goes on as the holder", {
  skip: noSignals,
}, async (t) => {
  const home = temporaryHome(t);
  const holder = new Contender(t, home);
  assert.ok((await holder.answer()).held);
  holder.child.kill("SIGSTOP");
  const second = new Contender(t, home);
  assertRefusedBy(holder.child.pid, await second.answer());
  holder.child.kill("SIGCONT");
  assert.ok((await holder.check()).held);
});

test("a killed holder frees the home in less than 2 s, without a step by hand", async (t) => {
  const home = temporaryHome(t);
  const holder = new Contender(t, home);
  assert.ok((await holder.answer()).held);
  assert.throws(() => takeLease(home), { code: "THROUGHLINE_LOCKED" });
  await holder.kill();
  const killedAt = performance.now();
  assert.ok(fs.existsSync(join(home, "lock.json")), "the note of the dead is there");
  const next = takeLease(home);
  assert.ok(performance.now() - killedAt < 2_000);
  next.release();
});

test("when the home is renamed, its holder stops, and keeps others from it under its new name", {
  skip: noSignals,
}, async (t) => {
  const home = temporaryHome(t);
  const holder = new Contender(t, home);
  assert.ok((await holder.answer()).held);
  fs.renameSync(home, `${home}-moved`);
  assert.equal((await holder.check()).code, "THROUGHLINE_UNAVAILABLE");
  const second = new Contender(t, `${home}-moved`);
  assertRefusedBy(holder.child.pid, await second.answer());
});

test("under node --permission a home is refused, with the reason", (t) => {
  const home = temporaryDirectory(t);
  const script = `
    import { openThroughline } from ${JSON.stringify(new URL("../src/index.ts", import.meta.url).href)};
    await openThroughline({ home: ${JSON.stringify(home)} }).catch((error) => {
      console.log(JSON.stringify([error.code, error.message]));
    });`;
  const flags = ["--permission", "--allow-fs-read=*", `--allow-fs-write=${home}`];
  const args = [...flags, "--input-type=module", "-e", script];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  const [code, message] = JSON.parse(stdout || "[]");
  assert.equal(code, "THROUGHLINE_CONFIGURATION", stderr);
  assert.match(message, /--permission.*fdatasync/);
});
