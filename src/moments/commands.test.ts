import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { runCli, temporaryDirectory } from "../../test/support/command-line.ts";
import { openThroughline } from "../core/throughline.ts";
import { checkMoments } from "./checks/moments.ts";

const texts = [
  ["2026-02-19", "2026-02-19T00:00:00.000Z"],
  ["2024-02-29", "2024-02-29T00:00:00.000Z"],
  ["2026-02-19T15:30Z", "2026-02-19T15:30:00.000Z"],
  ["2026-02-19T15:30:10.5+02:00", "2026-02-19T13:30:10.500Z"],
  ["2026-02-19T23:30-02:00", "2026-02-20T01:30:00.000Z"],
  ["2026-02-19T15:30", new Date(2026, 1, 19, 15, 30).toISOString()],
  ["2026-02-19 15:30:10", new Date(2026, 1, 19, 15, 30, 10).toISOString()],
  ["2026-02-30", undefined],
  ["2026-02-29T10:00Z", undefined],
  ["2026-04-31 10:00", undefined],
  ["2026-13-01", undefined],
  ["2026-02-19T25:00", undefined],
  ["2026-11-23 (x)", undefined],
  ["2026-11-23x", undefined],
  ["2026-11-23 10:00 PM", undefined],
  ["soon", undefined],
  ["", undefined],
] as const;
test("feedback export takes a date, or a date with a time, and refuses what is neither", async (t) => {
  const directory = temporaryDirectory(t);
  const home = join(directory, "home");
  await (await openThroughline({ home })).close();
  for (const [n, [text, wanted]] of texts.entries()) {
    const option = n % 2 === 0 ? "--since" : "--until";
    const args = ["feedback", "export", "--format", "kto", "--out", join(directory, `data-${n}`)];
    const { code, out, err } = await runCli([...args, "--json", option, text], { home });
    assert.equal(code, wanted === undefined ? 2 : 0, `${text}: ${err}`);
    if (wanted !== undefined) assert.equal(JSON.parse(out).filters[option.slice(2)], wanted);
    else assert.match(err, /It must be a date such as 2026-02-19, or a date with a time\./, text);
  }
});

const seedFolder = (number: number, sentiment = "positive") =>
  `2023-11-14T22-13-2${number}_${sentiment}_fb_a1b2c${number}`;

/** A home, and a folder of packages of the original, of November 2023, to be taken over. */
async function home(t: TestContext) {
  const directory = temporaryDirectory(t);
  const path = join(directory, "home");
  await (await openThroughline({ home: path })).close();
  const seeds = join(directory, "seeds");
  const seed = (number: number, sentiment?: string) => {
    const name = seedFolder(number, sentiment);
    fs.mkdirSync(join(seeds, name), { recursive: true });
    const timestamp = 1_700_000_000 + number;
    const record = { sentiment: sentiment ?? "positive", what: `joke ${number}`, timestamp };
    const words = [{ role: "ASSISTANT", text: "Knock, knock", timestamp }];
    fs.writeFileSync(join(seeds, name, "feedback.json"), JSON.stringify(record));
    fs.writeFileSync(join(seeds, name, "messages.json"), JSON.stringify(words));
    return name;
  };
  const run = (...args: string[]) => runCli(args, { home: path });
  const names = () =>
    fs.readdirSync(join(path, "feedback")).filter((name) => !name.endsWith(".json"));
  return { path, directory, seeds, seed, run, names };
}

for (const flags of [[], ["--json"]]) {
  test(`import ${flags.join("")} names each package that it cannot take, takes the others, and ends with 1`, async (t) => {
    const { seed, seeds, run, names } = await home(t);
    seed(1);
    const neutral = seed(2, "neutral");
    seed(3);
    const empty = seed(4);
    fs.rmSync(join(seeds, empty, "feedback.json"));
    seed(5);
    const { code, out, err } = await run("feedback", "import", seeds, ...flags);
    assert.equal(code, 1);
    assert.equal(
      err,
      `${neutral}: error: sentiment is neither positive nor negative [THROUGHLINE_INVALID]\n` +
        `${empty}: error: there is no feedback.json [THROUGHLINE_NOT_FOUND]\n`,
    );
    if (flags.length === 0)
      assert.equal(out, "3 packages imported, 0 already here, 2 NOT IMPORTED\n");
    else assert.equal(JSON.parse(out).length, 3);
    assert.equal(names().length, 3);
  });
}

/** Two packages that may be exported; the first is retracted, and what says so is torn. */
async function torn(t: TestContext) {
  const at = await home(t);
  at.seed(1);
  at.seed(2);
  await at.run("feedback", "import", at.seeds, "--allow-export");
  const [name = ""] = at.names().sort();
  assert.equal((await at.run("feedback", "retract", name)).code, 0);
  const status = join(at.path, "feedback", `${name}.status.json`);
  fs.truncateSync(status, 20);
  return { ...at, name, status };
}

test("a package whose status cannot be read is not exported, and the reason is told", async (t) => {
  const { run, directory, name } = await torn(t);
  const out = join(directory, "data");
  const args = ["feedback", "export", "--format", "jsonl"];
  const { code, err } = await run(...args, "--out", out);
  assert.deepEqual([code, err.includes(`  ${name}: unverified\n`)], [0, true], err);
  const again = await run(...args, "--out", out, "--replace", "--json");
  const { rows, skipped } = JSON.parse(again.out);
  assert.deepEqual([rows.total, skipped], [1, [{ name, reason: "unverified" }]]);
});

test("a package whose status cannot be read is marked by list", async (t) => {
  const { run, name } = await torn(t);
  const lines = (await run("feedback", "list")).out.split("\n");
  const [marked, ...more] = lines.filter((line) => line.includes("status unreadable"));
  assert.deepEqual([marked?.split(" ")[0], more], [name, []]);
  const [, entry] = JSON.parse((await run("feedback", "list", "--json")).out);
  assert.deepEqual([entry.name, entry.status], [name, null]);
});

test("a package whose status cannot be read is damage for doctor, and the way out that it names is one", async (t) => {
  const { run, name, path, status } = await torn(t);
  const { code, out } = await run("doctor");
  assert.equal(code, 1);
  const line = out.split("\n").find((each) => each.startsWith("DAMAGED")) ?? "";
  assert.ok(line.includes(`the status of 1 feedback package cannot be read`), out);
  assert.ok(
    line.includes(`: ${name}. Move <package>.status.json out of ${join(path, "feedback")}`),
  );
  fs.renameSync(status, join(path, "..", "moved"));
  assert.equal((await run("feedback", "retract", name)).code, 0);
  const after = await run("doctor");
  assert.equal(after.code, 0);
  assert.match(after.out, /\nok +the status of every feedback package can be read\n/);
});

test("purge says that the clock is far past the newest package, and removes nothing for its age", async (t) => {
  const { seed, seeds, run, names } = await home(t);
  seed(1);
  seed(2);
  await run("feedback", "import", seeds);
  const byAge = ["feedback", "purge", "--max-age-days", "30"];
  const { code, out, err } = await run(...byAge);
  assert.equal(code, 0);
  assert.match(out, /^0 packages removed, /);
  assert.match(err, /^The clock is more than a year past the newest package .* feedback delete/);
  assert.equal(names().length, 2);
  assert.equal(JSON.parse((await run(...byAge, "--json")).out).clockIsAhead, true);
  assert.match((await run("feedback", "purge", "--max-megabytes", "0")).out, /^2 packages removed/);
});

const rest = { region: undefined, endpoint: undefined, createBucket: false, autoRecord: false };
for (const [storage, bucket, status, says] of [
  ["cloud", "b", "note", /^FEEDBACK_STORAGE must be one of local, local\+s3, s3\. /],
  ["cloud", undefined, "note", /^FEEDBACK_STORAGE must be one of /],
  ["s3", undefined, "note", /^FEEDBACK_STORAGE is s3, but FEEDBACK_S3_BUCKET is not set\. /],
  ["local", undefined, "ok", /stay on this machine$/],
  ["local", "b", "ok", /stay on this machine$/],
  [undefined, undefined, "ok", /stay on this machine$/],
  [undefined, "b", "ok", /go to the bucket b$/],
  ["s3", "b", "ok", /go to the bucket b$/],
] as const) {
  test(`FEEDBACK_STORAGE ${storage} with the bucket ${bucket} is ${status} for doctor, in words`, () => {
    const check = checkMoments({ ...rest, storage, bucket });
    assert.equal(check.status, status);
    assert.match(check.says, says);
  });
}
