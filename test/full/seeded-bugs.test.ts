// Method: a copy of the sources for each worker; one safeguard at a time is taken away in it, and the
// test that guards it must turn red. A test that stays green proves nothing of that safeguard. With
// THROUGHLINE_BUGS=some, as in CI, only those of changed modules are tried and a twentieth of all; that their guards
// are green with every safeguard in place is then left to npm test, which has just run them.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { changedFiles, chooseBugs } from "../support/chosen-bugs.ts";
import { type SeededBug, seededBugs } from "../support/seeded-bugs.ts";

const root = join(import.meta.dirname, "../..");
const today = new Date();
const changed = process.env["THROUGHLINE_BUGS"] === "some" ? changedFiles(root) : undefined;
const bugs =
  changed === undefined
    ? seededBugs
    : chooseBugs(seededBugs, changed, Math.floor(today.getTime() / 86_400_000));
if (changed !== undefined) {
  const chosen = `${bugs.length} of ${seededBugs.length} seeded bugs`;
  const day = today.toISOString().slice(0, 10);
  console.log(`${chosen}, as chosen on ${day}: ${bugs.map(({ id }) => id).join("; ")}`);
}
const workers = 2;
/** A machine that does nothing else needs 20 s at most; one of half the speed, beside other tests, four times that. */
const limitMs = 300_000;

const copies = Array.from({ length: workers }, () => {
  const copy = fs.mkdtempSync(join(tmpdir(), "throughline-bugs-"));
  fs.chmodSync(copy, 0o711); // a database in it runs as nobody
  for (const name of ["src", "test", "package.json", "tsconfig.json"]) {
    fs.cpSync(join(root, name), join(copy, name), { recursive: true });
  }
  fs.symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  fs.mkdirSync(join(copy, "tmp"));
  return copy;
});
after(() => {
  for (const copy of copies) fs.rmSync(copy, { recursive: true, force: true });
});

const untracked = join(root, "scripts/untracked-tests.ts");

type Guard = Pick<SeededBug, "test" | "named" | "isFull">;

/** Runs the tests that guard something. @returns what came of it, in the words of the runner. */
async function runGuard(copy: string, { test: path, named, isFull }: Guard): Promise<string> {
  const pattern = named === undefined ? [] : [`--test-name-pattern=${named}`];
  // With the bug in the source, the build has nothing to say.
  const {
    THROUGHLINE_FULL: _,
    THROUGHLINE_BUILT: __,
    NODE_TEST_CONTEXT: ___,
    ...env
  } = process.env;
  const args = ["--import", untracked, "--test", "--test-reporter=tap", ...pattern, path];
  const child = spawn(process.execPath, args, {
    cwd: copy,
    // What a test that turns red leaves to be looked at goes with the copy.
    env: { ...env, TMPDIR: join(copy, "tmp"), ...(isFull ? { THROUGHLINE_FULL: "1" } : {}) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      out += text;
    });
  }
  const timer = setTimeout(() => child.kill("SIGKILL"), limitMs);
  await once(child, "close");
  clearTimeout(timer);
  return out;
}

const count = (out: string, what: string) =>
  Number(new RegExp(`^# ${what} (\\d+)$`, "m").exec(out)?.[1]);
const guardOf = ({ test: path, named = "" }: Guard) => `${path} ${named}`;

describe("seeded bugs", { concurrency: workers }, () => {
  const idle = [...copies];
  /** One run at a time in each copy. */
  const inCopy = async (work: (copy: string) => Promise<void>) => {
    const copy = idle.pop() ?? assert.fail("more runs at once than copies");
    try {
      await work(copy);
    } finally {
      idle.push(copy);
    }
  };
  const unproven = changed === undefined ? bugs : bugs.filter(({ isFull }) => isFull);
  const guards = new Map<string, Guard>(unproven.map((bug) => [guardOf(bug), bug]));
  for (const [name, guard] of guards) {
    test(`${name}: green with every safeguard in place`, async () => {
      await inCopy(async (copy) => {
        const out = await runGuard(copy, guard);
        assert.equal(count(out, "fail"), 0, out.slice(-3_000));
        // A file of which no test has that name is reported as one test, which passes.
        assert.doesNotMatch(out, /^# Subtest: .*\.test\.ts$/m, "no test has such a name");
        assert.ok(count(out, "pass") >= 1, out.slice(-3_000));
      });
    });
  }
  for (const bug of bugs) {
    test(`${bug.id}: ${bug.test} turns red`, async () => {
      await inCopy(async (copy) => {
        const path = join(copy, bug.file);
        const text = fs.readFileSync(path, "utf8");
        assert.equal(text.split(bug.find).length, 2, "the safeguard is there once");
        fs.writeFileSync(
          path,
          text.replace(bug.find, () => bug.replace),
        );
        try {
          const out = await runGuard(copy, bug);
          assert.doesNotMatch(out, /SyntaxError|ReferenceError/, "the edit is no program");
          assert.ok(count(out, "fail") >= 1, `it stayed green:\n${out.slice(-1_500)}`);
        } finally {
          fs.writeFileSync(path, text);
        }
      });
    });
  }
});
