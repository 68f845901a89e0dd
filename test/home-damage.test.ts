// Damage of real homes: what doctor says, what backup says, and that following the advice contents doctor.
import assert from "node:assert/strict";
import fs from "node:fs";
import { basename, dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { startCompanion } from "../src/companion/start-companion.ts";
import { realDisk } from "../src/core/storage/disk/disk.ts";
import { Quarantine } from "../src/core/storage/files/quarantine.ts";
import { openThroughline } from "../src/core/throughline.ts";
import {
  copiesOf,
  Process,
  runCli,
  serveHere,
  temporaryDirectory,
} from "./support/command-line.ts";

const isFull = process.env["THROUGHLINE_FULL"] === "1";
const picture = Buffer.from("a picture");

/** A home with three chats, an attachment, the companion's document and two runs that ended in order. */
const homeOf = copiesOf(async (home) => {
  for (let run = 0; run < 2; run++) {
    await using throughline = await openThroughline({ home });
    await startCompanion(throughline, {});
    for (const chatId of ["a", "b", "c"]) {
      const sha256 = await throughline.chats.files.put(chatId, picture);
      const attachments = [{ name: "cat.png", type: "image/png", size: picture.length, sha256 }];
      const words = { role: "user", content: `run ${run} of ${chatId}`, attachments } as const;
      await throughline.chats.append(chatId, [words]);
    }
  }
});

const garbage = Buffer.from("\u0000garbage \u00ff\n".repeat(40));

type Harm = (home: string) => void;

/** A bit of a word is another one. */
const flip =
  (name: string, word: string): Harm =>
  (home) => {
    const bytes = fs.readFileSync(join(home, name));
    const place = bytes.indexOf(word);
    assert.ok(place > 0);
    bytes[place] = (bytes[place] ?? 0) ^ 1;
    fs.writeFileSync(join(home, name), bytes);
  };

const overwrite =
  (...names: readonly string[]): Harm =>
  (home) => {
    for (const path of names.map((name) => join(home, name))) {
      fs.mkdirSync(dirname(path), { recursive: true });
      fs.writeFileSync(path, garbage);
    }
  };

const remove =
  (name: string): Harm =>
  (home) =>
    fs.rmSync(join(home, name), { recursive: true });

/** Another text in place of what the file of a log has. */
const rewrite =
  (name: string, by: (text: string, home: string) => string): Harm =>
  (home) => {
    const path = join(home, name);
    fs.writeFileSync(path, by(fs.readFileSync(path, "latin1"), home), "latin1");
  };

const attachmentIn = (home: string) => {
  const folder = join(home, "chats/c.files");
  const name = fs.readdirSync(folder).find((each) => /^[0-9a-f]{64}$/.test(each));
  assert.ok(name);
  return join(folder, name);
};

const b = "chats/b.jsonl";
/** Rows with the same number harm other files: without the full size they share a home. */
const table: readonly (readonly [
  what: string,
  home: number,
  harm: Harm,
  says: string,
  /** The file that the advice is to move away, besides `doctor --confirm`. */
  moves?: string,
])[] = [
  [
    "session.json and its copy overwritten",
    1,
    overwrite("session/session.json", "session/session.json.bak"),
    "session/session: unreadable_document",
  ],
  [
    "session.json overwritten, its copy whole",
    2,
    overwrite("session/session.json"),
    "session/session: unreadable_document",
  ],
  ["garbage in consent.json", 1, overwrite("consent.json"), "/consent: unreadable_document"],
  [
    "garbage in forgotten/companion.json",
    1,
    overwrite("forgotten/companion.json"),
    "forgotten/companion: unreadable_document",
  ],
  ["a flipped bit in runs.jsonl", 4, flip("runs.jsonl", "run_start"), "/runs: damaged_middle"],
  ["session/ gone", 3, remove("session"), "session/session: missing_document"],
  [
    "the file of an attachment gone",
    1,
    (home) => fs.rmSync(attachmentIn(home)),
    "chats/c: missing_file",
  ],
  [
    "the file of an attachment overwritten",
    2,
    (home) => fs.writeFileSync(attachmentIn(home), garbage),
    "chats/c: damaged_file",
  ],
  [
    "a chat cut",
    7,
    rewrite(b, (text) => text.slice(0, text.lastIndexOf("\n", text.indexOf("run 1 of")) + 1)),
    "chats/b: older_copy",
  ],
  [
    "a chat cut in the middle of a line",
    2,
    rewrite(b, (text) => text.slice(0, 700)),
    "chats/b: older_copy",
  ],
  ["a chat removed", 3, remove(b), "chats/b: older_copy: the file is not there"],
  [
    "a chat overwritten by another of the same length",
    4,
    rewrite(b, (text) => "x".repeat(text.length)),
    "chats/b: foreign_lines.* Stop the program",
    b,
  ],
  [
    "a chat overwritten by another chat",
    5,
    rewrite(b, (_, home) => fs.readFileSync(join(home, "chats/a.jsonl"), "latin1")),
    "chats/b: foreign_lines: it holds another log",
    b,
  ],
  ["a bit of a chat flipped", 6, flip(b, "run 0 of"), "chats/b: damaged_middle"],
  [
    "a foreign runs.jsonl",
    5,
    rewrite("runs.jsonl", () => "name,age\nAnn,7\n".repeat(90)),
    "/runs: foreign_lines",
    "runs.jsonl",
  ],
  ["runs.jsonl gone", 6, remove("runs.jsonl"), "/runs: older_copy: the file is not there"],
  [
    "garbage in forgotten/chats.jsonl",
    2,
    overwrite("forgotten/chats.jsonl"),
    "forgotten/chats: foreign_lines",
    "forgotten/chats.jsonl",
  ],
];
const rows = table.map(([what, home, harm, words, moves]) => {
  const advice = moves === undefined ? "" : `.* move the file .*${basename(moves)} out`;
  return { what, home, harm, says: new RegExp(`DAMAGED +${words}${advice}`), moves };
});

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
    const home = await homeOf(t);
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
    for (const { moves } of harms) {
      if (moves) fs.renameSync(join(home, moves), join(home, "..", basename(moves)));
    }
    const again = await doctor(home);
    assert.equal(again.code, 1, "what was found stays until it is confirmed");
    const ids = harms.map(({ says }) => idIn(again.out, says));
    for (const [nth, id] of ids.entries()) {
      const { code, out, err } = await doctor(home, "--confirm", id);
      assert.equal(code, nth < harms.length - 1 ? 1 : 0, out + err);
    }
    const whole = await runCli(["backup", join(home, "../whole")], { home });
    assert.equal(whole.code, 0, whole.err);
    await (isFull ? served(t, home) : opened(home));
    const last = await doctor(home);
    assert.equal(last.code, 0, last.out);
  });
}

test("an empty log that a kill left is removed at the next start, and its chat can begin", async (t) => {
  const home = await homeOf(t);
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
  const home = await homeOf(t);
  fs.writeFileSync(join(home, "lock.db"), garbage);
  const says = /lock\.db is not .* move it out of the home.* holds no data/i;
  const { code, out } = await doctor(home);
  assert.deepEqual([code, says.test(out)], [1, true], out);
  assert.match((await runCli(["serve", "--port", "0"], { home })).err, says);
  fs.renameSync(join(home, "lock.db"), join(home, "../lock.db"));
  assert.equal((await doctor(home)).code, 0);
});

test("GET /api/doctor of a running server finds damage, keeps its answer for 60 s, and needs a token", async (t) => {
  const home = await homeOf(t);
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
  const home = await homeOf(t);
  const variables = { LOG_LEVEL: "warn" };
  const first = new Process(t, ["serve", "--port", "0"], { home, variables });
  await first.url();
  await first.kill();
  fs.rmSync(join(home, "chats/b.jsonl"));
  await (await serveHere(t, home)).stop();
  const serve = new Process(t, ["serve", "--port", "0"], { home, variables });
  await serve.url();
  await serve.err.has("see `throughline doctor`");
  await serve.kill("SIGTERM");
  const { code, out } = await doctor(home);
  assert.deepEqual([code, /DAMAGED +chats\/b: missing_log/.test(out)], [1, true], out);
  assert.equal((await runCli(["sessions", "forget", "b", "--yes"], { home })).code, 0);
  const forgotten = await doctor(home);
  assert.deepEqual([forgotten.code, /chats\/b/.test(forgotten.out)], [0, false], forgotten.out);
  assert.deepEqual(fs.readdirSync(join(home, "quarantine")), []);
});

test("a log that is missing because its chat was forgotten is not found, and its id is kept nowhere", async (t) => {
  const home = await homeOf(t);
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
