// Damage of real homes: what doctor says, what backup says, and that following the advice contents doctor.
import assert from "node:assert/strict";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { startCompanion } from "../src/companion/start-companion.ts";
import { realDisk } from "../src/core/storage/disk/disk.ts";
import { Quarantine } from "../src/core/storage/files/quarantine.ts";
import { openThroughline } from "../src/core/throughline.ts";
import { Process, runCli, serveHere, temporaryDirectory } from "./support/command-line.ts";

const isFull = process.env["THROUGHLINE_FULL"] === "1";
const picture = Buffer.from("a picture");

/** A home with three chats, an attachment, the companion's document and two runs that ended in order. */
const template = fs.mkdtempSync(join(tmpdir(), "throughline-damage-"));
after(() => fs.rmSync(template, { recursive: true }));
before(async () => {
  for (let run = 0; run < 2; run++) {
    await using throughline = await openThroughline({ home: template });
    await startCompanion(throughline, {});
    for (const chatId of ["a", "b", "c"]) {
      const sha256 = await throughline.chats.files.put(chatId, picture);
      const attachments = [{ name: "cat.png", type: "image/png", size: picture.length, sha256 }];
      const words = { role: "user", content: `run ${run} of ${chatId}`, attachments } as const;
      await throughline.chats.append(chatId, [words]);
    }
  }
});

/** A copy of it. */
function homeOf(t: TestContext): string {
  const home = join(temporaryDirectory(t), "home");
  fs.cpSync(template, home, { recursive: true, preserveTimestamps: true });
  fs.rmSync(join(home, "lock.db"));
  return home;
}

const garbage = Buffer.from("\u0000garbage \u00ff\n".repeat(40));

function flip(path: string, word: string): void {
  const bytes = fs.readFileSync(path);
  const place = bytes.indexOf(word);
  assert.ok(place > 0);
  bytes[place] = (bytes[place] ?? 0) ^ 1;
  fs.writeFileSync(path, bytes);
}

const fileIn = (folder: string, pattern: RegExp) => {
  const name = fs.readdirSync(folder).find((each) => pattern.test(each));
  assert.ok(name);
  return join(folder, name);
};

interface Row {
  readonly what: string;
  readonly harm: (home: string) => void;
  /** In the output of doctor. */
  readonly says: RegExp;
  /** What the advice names besides `doctor --confirm`. */
  readonly advice?: (home: string) => void;
  /** Rows with the same number harm other files: without the full size they share a home. */
  readonly home: number;
}

const rows: readonly Row[] = [
  {
    what: "session.json and its copy overwritten",
    home: 1,
    harm: (home) => {
      for (const name of ["session.json", "session.json.bak"]) {
        fs.writeFileSync(join(home, "session", name), garbage);
      }
    },
    says: /DAMAGED +session\/session: unreadable_document/,
  },
  {
    what: "session.json overwritten, its copy whole",
    home: 2,
    harm: (home) => fs.writeFileSync(join(home, "session/session.json"), garbage),
    says: /DAMAGED +session\/session: unreadable_document/,
  },
  {
    what: "garbage in consent.json",
    home: 1,
    harm: (home) => fs.writeFileSync(join(home, "consent.json"), garbage),
    says: /DAMAGED +\/consent: unreadable_document/,
  },
  {
    what: "garbage in forgotten/companion.json",
    home: 1,
    harm: (home) => {
      fs.mkdirSync(join(home, "forgotten"), { recursive: true });
      fs.writeFileSync(join(home, "forgotten/companion.json"), garbage);
    },
    says: /DAMAGED +forgotten\/companion: unreadable_document/,
  },
  {
    what: "a flipped bit in runs.jsonl",
    home: 4,
    harm: (home) => flip(join(home, "runs.jsonl"), "run_start"),
    says: /DAMAGED +\/runs: damaged_middle/,
  },
  {
    what: "session/ gone",
    home: 3,
    harm: (home) => fs.rmSync(join(home, "session"), { recursive: true }),
    says: /DAMAGED +session\/session: missing_document/,
  },
  {
    what: "the file of an attachment gone",
    home: 1,
    harm: (home) => fs.rmSync(fileIn(join(home, "chats/c.files"), /^[0-9a-f]{64}$/)),
    says: /DAMAGED +chats\/c: missing_file/,
  },
  {
    what: "the file of an attachment overwritten",
    home: 2,
    harm: (home) =>
      fs.writeFileSync(fileIn(join(home, "chats/c.files"), /^[0-9a-f]{64}$/), garbage),
    says: /DAMAGED +chats\/c: damaged_file/,
  },
  {
    what: "a chat cut",
    home: 7,
    harm: (home) => {
      const path = join(home, "chats/b.jsonl");
      const text = fs.readFileSync(path, "utf8");
      fs.writeFileSync(path, text.slice(0, text.lastIndexOf("\n", text.indexOf("run 1 of")) + 1));
    },
    says: /DAMAGED +chats\/b: older_copy/,
  },
  {
    what: "a chat cut in the middle of a line",
    home: 2,
    harm: (home) => fs.truncateSync(join(home, "chats/b.jsonl"), 700),
    says: /DAMAGED +chats\/b: older_copy/,
  },
  {
    what: "a chat removed",
    home: 3,
    harm: (home) => fs.rmSync(join(home, "chats/b.jsonl")),
    says: /DAMAGED +chats\/b: older_copy: the file is not there/,
  },
  {
    what: "a chat overwritten by another of the same length",
    home: 4,
    harm: (home) => {
      const path = join(home, "chats/b.jsonl");
      fs.writeFileSync(path, fs.readFileSync(path).fill("x"));
    },
    says: /DAMAGED +chats\/b: foreign_lines.* Stop the program.* move the file .*b\.jsonl out/,
    advice: (home) => fs.renameSync(join(home, "chats/b.jsonl"), join(home, "../b.jsonl")),
  },
  {
    what: "a chat overwritten by another chat",
    home: 5,
    harm: (home) => fs.copyFileSync(join(home, "chats/a.jsonl"), join(home, "chats/b.jsonl")),
    says: /DAMAGED +chats\/b: foreign_lines: it holds another log.* move the file .*b\.jsonl out/,
    advice: (home) => fs.renameSync(join(home, "chats/b.jsonl"), join(home, "../b.jsonl")),
  },
  {
    what: "a bit of a chat flipped",
    home: 6,
    harm: (home) => flip(join(home, "chats/b.jsonl"), "run 0 of"),
    says: /DAMAGED +chats\/b: damaged_middle/,
  },
  {
    what: "a foreign runs.jsonl",
    home: 5,
    harm: (home) => fs.writeFileSync(join(home, "runs.jsonl"), "name,age\nAnn,7\n".repeat(90)),
    says: /DAMAGED +\/runs: foreign_lines.* move the file .*runs\.jsonl out/,
    advice: (home) => fs.renameSync(join(home, "runs.jsonl"), join(home, "../runs.jsonl")),
  },
  {
    what: "runs.jsonl gone",
    home: 6,
    harm: (home) => fs.rmSync(join(home, "runs.jsonl")),
    says: /DAMAGED +\/runs: older_copy: the file is not there/,
  },
  {
    what: "garbage in forgotten/chats.jsonl",
    home: 2,
    harm: (home) => {
      fs.mkdirSync(join(home, "forgotten"), { recursive: true });
      fs.writeFileSync(join(home, "forgotten/chats.jsonl"), garbage);
    },
    says: /DAMAGED +forgotten\/chats: foreign_lines.* move the file .*chats\.jsonl out/,
    advice: (home) =>
      fs.renameSync(join(home, "forgotten/chats.jsonl"), join(home, "../forgotten.jsonl")),
  },
];

async function doctor(home: string, ...args: readonly string[]) {
  return runCli(["doctor", ...args], { home });
}

function idIn(out: string, says: RegExp): string {
  const line = out.split("\n").find((each) => says.test(each)) ?? "";
  const [, id] = /throughline doctor --confirm ([0-9a-f]{8})/.exec(line) ?? [];
  assert.ok(id, out);
  return id;
}

/** What `serve` does with a home, without its process: the full size starts one for each row. */
async function opened(home: string): Promise<void> {
  await using throughline = await openThroughline({ home });
  await startCompanion(throughline, {});
}

async function served(t: TestContext, home: string): Promise<void> {
  const serve = new Process(t, ["serve", "--port", "0"], { home });
  assert.ok(await serve.url());
  assert.equal((await serve.kill("SIGTERM")).code, 0);
}

const shared = [...Map.groupBy(rows, ({ home }) => home).values()];
for (const harms of isFull ? rows.map((row) => [row]) : shared) {
  const what = harms.map((row) => row.what).join(", ");
  test(`doctor and backup say of ${what}; once the advice is followed doctor is content and the home serves`, async (t) => {
    const home = homeOf(t);
    for (const { harm } of harms) harm(home);
    const copy = join(home, "../copy"); // in which nothing was found yet
    fs.cpSync(home, copy, { recursive: true });
    const { code, out } = await doctor(home);
    assert.equal(code, 1, out);
    for (const { says } of harms) assert.match(out, says);
    assert.doesNotMatch(out, /Nothing is damaged/);
    const backup = await runCli(["backup", join(home, "../backup")], { home: copy });
    assert.equal(backup.code, 1, backup.err);
    assert.match(backup.err, /Damaged in the home/);
    for (const { advice } of harms) advice?.(home);
    const again = await doctor(home);
    assert.equal(again.code, 1, "what was found stays until it is confirmed");
    const ids = harms.map(({ says }) => idIn(again.out, says));
    for (const [nth, id] of ids.entries()) {
      const { code, out, err } = await doctor(home, "--confirm", id);
      assert.equal(code, nth < harms.length - 1 ? 1 : 0, out + err);
    }
    const content = await doctor(home);
    assert.equal(content.code, 0, content.out);
    const whole = await runCli(["backup", join(home, "../whole")], { home });
    assert.equal(whole.code, 0, whole.err);
    await (isFull ? served(t, home) : opened(home));
    const last = await doctor(home);
    assert.equal(last.code, 0, last.out);
  });
}

test("an empty log that a kill left is removed at the next start, and its chat can begin", async (t) => {
  const home = homeOf(t);
  const folder = join(home, "chats");
  for (const name of ["never", "begun"]) fs.writeFileSync(join(folder, `${name}.jsonl`), "");
  const throughline = await openThroughline({ home });
  await throughline.chats.append("begun", [{ role: "user", content: "Hello" }]);
  assert.equal((await throughline.chats.messages("begun")).messages.length, 1);
  await throughline.close();
  assert.deepEqual(
    fs.readdirSync(folder).filter((name) => fs.statSync(join(folder, name)).size === 0),
    [],
  );
  assert.ok(!fs.existsSync(join(folder, "never.jsonl")));
});

test("doctor says of a home that is not there or is none that there is no home: exit 1", async (t) => {
  const folder = temporaryDirectory(t);
  fs.writeFileSync(join(folder, "letter.txt"), "Dear Ann");
  for (const home of [join(folder, "hmoe"), folder]) {
    const { code, out } = await doctor(home);
    assert.equal(code, 1, out);
    assert.match(out, /FAILED +(there is no home at|.* is not a home)/);
    assert.doesNotMatch(out, /Nothing is damaged/);
  }
  assert.deepEqual(fs.readdirSync(folder), ["letter.txt"]);
});

test("serve and doctor say of a lock.db that is none that it can be moved away, and then the home opens", async (t) => {
  const home = homeOf(t);
  fs.writeFileSync(join(home, "lock.db"), garbage);
  const says = /lock\.db is not .* move it out of the home.* holds no data/i;
  const { code, out } = await doctor(home);
  assert.deepEqual([code, says.test(out)], [1, true], out);
  assert.match((await runCli(["serve", "--port", "0"], { home })).err, says);
  fs.renameSync(join(home, "lock.db"), join(home, "../lock.db"));
  assert.equal((await doctor(home)).code, 0);
});

test("GET /api/doctor of a running server finds damage, keeps its answer for 60 s, and needs a token", async (t) => {
  const home = homeOf(t);
  const token = join(home, "../token");
  const open = await serveHere(t, home);
  assert.equal((await fetch(`${open.url}/api/doctor`)).status, 403);
  await open.stop();
  for (const names of [
    ["a flipped bit in runs.jsonl", "a chat cut", "the file of an attachment gone"],
    ["a chat removed"],
  ]) {
    const harms = rows.filter(({ what }) => names.includes(what));
    // A server that runs writes: files come and go under a copy.
    const copy = join(home, "../copy");
    fs.cpSync(home, copy, { recursive: true });
    const { url, stop } = await serveHere(t, home, ["--token-file", token]);
    const headers = { authorization: `Bearer ${fs.readFileSync(token, "utf8").trim()}` };
    const ask = async () => (await fetch(`${url}/api/doctor`, { headers })).text();
    assert.equal((await fetch(`${url}/api/doctor`)).status, 401);
    for (const { harm } of harms) harm(home);
    const [found, same] = await Promise.all([ask(), ask()]);
    const { damaged, checks } = JSON.parse(found);
    const text = checks.map((each: { says: string }) => `DAMAGED ${each.says}`).join("\n");
    assert.equal(damaged, true);
    for (const { says } of harms) assert.match(text, says);
    fs.rmSync(join(home, "chats/a.jsonl"), { force: true });
    assert.deepEqual([same, await ask()], [found, found], "it is kept");
    const backup = await runCli(["backup", join(home, "../backup")], { home });
    assert.deepEqual([backup.code, /Damaged in the home/.test(backup.err)], [1, true]);
    await stop();
    for (const each of [home, join(home, "../backup")]) fs.rmSync(each, { recursive: true });
    fs.renameSync(copy, home);
  }
});

test("a start over damage that nobody confirmed warns; a chat removed before a crash is not forgotten by the next runs", async (t) => {
  const home = homeOf(t);
  const variables = { LOG_LEVEL: "warn" };
  const first = new Process(t, ["serve", "--port", "0"], { home, variables });
  await first.url();
  await first.kill();
  fs.rmSync(join(home, "chats/b.jsonl"));
  for (const time of [1, 2]) {
    const serve = new Process(t, ["serve", "--port", "0"], { home, variables });
    await serve.url();
    if (time === 2) await serve.err.has("see `throughline doctor`");
    await serve.kill("SIGTERM");
  }
  const { code, out } = await doctor(home);
  assert.deepEqual([code, /DAMAGED +chats\/b: missing_log/.test(out)], [1, true], out);
  assert.equal((await runCli(["sessions", "forget", "b", "--yes"], { home })).code, 0);
  const forgotten = await doctor(home);
  assert.deepEqual([forgotten.code, /chats\/b/.test(forgotten.out)], [0, false], forgotten.out);
  assert.deepEqual(fs.readdirSync(join(home, "quarantine")), []);
});

test("a log that is missing because its chat was forgotten is not found, and its id is kept nowhere", async (t) => {
  const home = homeOf(t);
  assert.equal((await runCli(["sessions", "forget", "b", "--yes"], { home })).code, 0);
  const own = { newId: () => "x", unsyncedNames: new Set<string>(), guard: () => undefined };
  const quarantine = new Quarantine({ disk: realDisk, ...own }, home);
  // As a start says it after a kill in the middle of a deletion.
  const report = { kind: "missing_log", bytes: 0, after_seq: 0, reason: "", at: "" } as const;
  for (const id of ["b", "c"]) await quarantine.keepReport({ ...report, key: `chats/${id}` });
  const { code, out } = await doctor(home);
  assert.deepEqual(
    [code, /chats\/b/.test(out), /DAMAGED +chats\/c/.test(out)],
    [1, false, true],
    out,
  );
});
