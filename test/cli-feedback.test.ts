// What people reacted to, at the command line: recorded, kept, mended, exported, taken over, removed.
import assert from "node:assert/strict";
import fs from "node:fs";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { openThroughline } from "../src/core/throughline.ts";
import { keyPrefix } from "../src/moments/package/package-name.ts";
import { consentWording } from "../src/moments/record/consent.ts";
import {
  bytesUnder,
  copiesOf,
  fakeIo,
  runCli,
  serveHere,
  temporaryDirectory,
} from "./support/command-line.ts";
import { noteOther } from "./support/loopback.ts";
import { started } from "./support/moments-home.ts";
import { S3Server } from "./support/s3/s3-server.ts";
import { samplePackage } from "./support/s3/sample-package.ts";

const joke = "Knock, knock";

/** A home with a chat of one joke and one remark about it, agreed to be exported. */
const homeWithJoke = copiesOf(async (path) => {
  await using throughline = await openThroughline({ home: path });
  await throughline.chats.append("local:me", [
    { role: "user", content: "Tell me a joke", id: "m1", turn: "m1" },
    { role: "assistant", content: joke, id: "m2", turn: "m1", provider: "ollama", model: "qwen3" },
    { role: "user", content: "And the weather?", id: "m3", turn: "m3" },
    { role: "assistant", content: "It rains", id: "m4", turn: "m3" },
  ]);
  const moments = await started(throughline, { consent: undefined });
  await moments.agree({ messages: true, export: true, wording: consentWording, by: "a test" });
});

async function home(t: TestContext) {
  const path = await homeWithJoke(t);
  const run = async (...args: string[]) => runCli(["feedback", ...args], { home: path });
  const ok = async (...args: string[]) => {
    const { code, out, err } = await run(...args);
    assert.equal(code, 0, err);
    return out;
  };
  const record = async (...args: string[]) => {
    return (await ok("record", "--sentiment", "positive", "--what", "the joke", ...args)).trim();
  };
  return { path, run, ok, record, folder: (name: string) => join(path, "feedback", name) };
}

const readJson = (path: string) => JSON.parse(fs.readFileSync(path, "utf8"));

test("record is about the last answer, or the one that is named, with the words up to it", async (t) => {
  const at = await home(t);
  const last = readJson(join(at.folder(await at.record()), "messages.json"));
  assert.deepEqual(last.map(({ text }: { text: string }) => text).at(-1), "It rains");
  const named = await at.record("--message", "m2", "--correction", "Who is there?");
  const { target, source, correction, model } = readJson(join(at.folder(named), "feedback.json"));
  assert.deepEqual([target.how, target.index, source, model], ["explicit", 1, "cli", "qwen3"]);
  assert.deepEqual(correction, { text: "Who is there?", kind: "replacement" });
  const words = readJson(join(at.folder(named), "messages.json"));
  assert.deepEqual(
    words.map(({ text }: { text: string }) => text),
    ["Tell me a joke", joke],
  );
});

test("record of an unknown message or chat, a score of the wrong sign, or a correction and a note is refused, and nothing is kept", async (t) => {
  const at = await home(t);
  for (const [args, says] of [
    [["--message", "m9"], /no message of this chat/],
    [["--chat", "local:nobody"], /nobody|not/i],
    [["--score", "-0.5"], /score/],
    [["--correction", "a", "--note", "b"], /either/],
  ] as const) {
    const { code, err } = await at.run("record", "--sentiment", "positive", "--what", "x", ...args);
    assert.notEqual(code, 0);
    assert.match(err, says);
  }
  assert.deepEqual(fs.readdirSync(join(at.path, "feedback")), []);
});

test("a second reaction supersedes the first, and an export has no other", async (t) => {
  const at = await home(t);
  const liked = await at.record("--message", "m2");
  const again = ["--sentiment", "negative", "--what", "it", "--message", "m2"];
  const disliked = (await at.ok("record", ...again)).trim();
  // As a kill between the newer package and the mark leaves it.
  fs.rmSync(at.folder(`${liked}.status.json`));
  const out = join(dirname(at.path), "out");
  await at.ok("export", "--format", "jsonl", "--out", out);
  const rows = fs.readFileSync(join(out, "packages.jsonl"), "utf8").trim().split("\n");
  assert.deepEqual(
    rows.map((row) => JSON.parse(row).name),
    [disliked],
  );
});

test("verify names what differs, and verify of all says when nothing does, or nothing is there", async (t) => {
  const at = await home(t);
  const nothing = { code: 0, out: "", err: "No reactions have been recorded yet.\n" };
  assert.deepEqual(await at.run("verify"), nothing);
  assert.equal(await at.ok("verify", "--json"), "[]\n");
  const name = await at.record();
  fs.writeFileSync(join(at.folder(name), "stray.txt"), "not ours");
  const { code, out } = await at.run("verify", name);
  assert.equal(code, 1);
  assert.match(out, /: damaged\n {2}stray\.txt: /);
  fs.rmSync(join(at.folder(name), "stray.txt"));
  assert.equal(await at.ok("verify"), `${name}: whole\n`);
  assert.equal((await at.run("verify", "no-such-name")).code, 1);
});

test("a preserved package outlives a purge, and goes with the next one after it is let go", async (t) => {
  const at = await home(t);
  const [kept, other] = [await at.record(), await at.record("--message", "m2")];
  await at.ok("preserve", kept, "--reason", "the first one");
  assert.match(await at.ok("purge", "--max-megabytes", "0"), /^1 package removed/);
  assert.deepEqual(
    [fs.existsSync(at.folder(kept)), fs.existsSync(at.folder(other))],
    [true, false],
  );
  await at.ok("preserve", kept, "--release");
  await at.ok("purge", "--max-megabytes", "0");
  assert.equal(fs.existsSync(at.folder(kept)), false);
  assert.equal((await at.run("purge")).code, 2);
});

test("export takes what the filters ask for, names what it leaves out and why, and writes a card", async (t) => {
  const at = await home(t);
  const [liked, taken] = [await at.record("--message", "m2"), await at.record("--message", "m4")];
  const bad = "record --sentiment negative --what short --message m2 --score -1";
  const disliked = (await at.ok(...bad.split(" "))).trim();
  await at.ok("retract", taken);
  const out = join(at.path, "..", "data");
  const { code, err } = await at.run("export", "--format", "kto", "--out", out);
  assert.equal(code, 0, err);
  assert.ok(err.includes(`  ${taken}: retracted\n`), err);
  assert.ok(err.includes(`  ${liked}: superseded\n`), err);
  const rows = fs.readFileSync(join(out, "train.jsonl"), "utf8").trim().split("\n");
  assert.deepEqual(
    rows.map((row) => JSON.parse(row).label),
    [false],
  );
  assert.match(fs.readFileSync(join(out, "README.md"), "utf8"), /configs:/);
  const asked = ["--sentiment", "negative", "--since", "2000-01-01", "--until", "2100-01-01"];
  asked.push("--chat", "local:me", "--source", "cli", "--min-score", "0.5");
  const again = ["export", "--format", "kto", "--out", out, "--replace", "--json", ...asked];
  const filtered = JSON.parse(await at.ok(...again));
  assert.equal(filtered.rows.total, 1);
  const { since, until, ...filters } = filtered.filters;
  assert.deepEqual([since.slice(0, 10), until.slice(0, 10)], ["2000-01-01", "2100-01-01"]);
  const plain = { sentiment: "negative", chat: "local:me", person: null, source: "cli" };
  assert.deepEqual(filters, { ...plain, min_score: 0.5 });
  assert.equal(
    (await at.run("export", "--format", "kto", "--out", out, "--since", "soon")).code,
    2,
  );
  await at.ok("delete", disliked, "--yes");
});

test("export says so where its folder is not there, or a file stands there or above", async (t) => {
  const at = await home(t);
  const notes = join(at.path, "..", "notes.txt");
  fs.writeFileSync(notes, "mine");
  for (const [out, says] of [
    ["no/data", /no such file or directory \(ENOENT\) \[THROUGHLINE_CONF/],
    ["notes.txt", /a file stands where .*notes\.txt.* \[THROUGHLINE_CONFLICT\]/],
    ["notes.txt/data", /a file stands where .*notes\.txt\/data/],
  ] as const) {
    const path = join(at.path, "..", out);
    const { code, err } = await at.run("export", "--format", "kto", "--out", path);
    assert.equal(code, 1);
    assert.match(err, says);
    assert.doesNotMatch(err, /report it/);
  }
  assert.equal(fs.readFileSync(notes, "utf8"), "mine");
});

test("export shows how far it is at a terminal, and to no pipe or log", async (t) => {
  const at = await home(t);
  await at.record();
  for (const isTTY of [false, true]) {
    const io = fakeIo();
    Object.assign(io.errors, { isTTY });
    const out = join(at.path, "..", `data-${isTTY}`);
    const args = ["feedback", "export", "--format", "kto", "--out", out];
    const { code, err } = await runCli(args, { home: at.path, io });
    assert.equal(code, 0);
    const steps = ["select 1/1", "write 1/1", ""].map((step) => `\r${step}\u001b[K\r`);
    assert.equal(err, isTTY ? steps.join("") : "");
  }
});

test("delete takes the packages of a chat and no others, and wants to be sure", async (t) => {
  const at = await home(t);
  const name = await at.record();
  assert.equal((await at.run("delete", name)).code, 2);
  assert.equal((await at.run("delete", "--yes")).code, 2);
  assert.equal(await at.ok("delete", "--chat", "local:other", "--yes"), "packages: 0\n");
  assert.ok(fs.existsSync(at.folder(name)));
  assert.equal(await at.ok("delete", "--chat", "local:me", "--yes"), "packages: 1\n");
  assert.deepEqual(fs.readdirSync(join(at.path, "feedback")), []);
});

test("Ctrl-C in an export ends it with 130, and leaves nothing of it", async (t) => {
  const at = await home(t);
  await at.record();
  const io = fakeIo();
  Object.assign(io.errors, { isTTY: true });
  void io.errors.has("select 1/1").then(() => io.signal("SIGINT"));
  const data = join(at.path, "..", "data");
  const args = ["feedback", "export", "--format", "jsonl", "--out", data];
  const { code, out } = await runCli(args, { home: at.path, io });
  assert.deepEqual({ code, out }, { code: 130, out: "" });
  assert.deepEqual(fs.readdirSync(join(at.path, "..")), ["home"]);
});

/** A package as the original wrote it. @returns its folder. */
function seedIn(place: string): string {
  const name = "2026-02-19T15-30-00_positive_fb_a1b2c3";
  const seed = join(place, "reachy_nova_data", "feedback", name);
  fs.mkdirSync(seed, { recursive: true });
  const record = {
    ...{ id: "a1b2c3", timestamp: 1771515000, timestamp_str: "2026-02-19T15-30-00" },
    ...{ sentiment: "positive", what: "told a joke", trigger: "head scratch" },
    ...{ num_messages: 1, num_frames: 0, audio_chunks: 0 },
  };
  fs.writeFileSync(join(seed, "feedback.json"), JSON.stringify(record));
  const words = [{ role: "ASSISTANT", text: joke, timestamp: 1771514990 }];
  fs.writeFileSync(join(seed, "messages.json"), JSON.stringify(words));
  return seed;
}

test("import seals copies of the original's packages, once, and does not change them", async (t) => {
  const at = await home(t);
  const seed = seedIn(join(at.path, ".."));
  const seeds = dirname(seed);
  const before = fs.readFileSync(join(seed, "feedback.json"), "utf8");
  assert.equal(await at.ok("import", seeds), "1 package imported, 0 already here\n");
  assert.equal(await at.ok("import", seed), "0 packages imported, 1 already here\n");
  assert.equal(fs.readFileSync(join(seed, "feedback.json"), "utf8"), before);
  assert.match(await at.ok("verify"), /: whole\n$/);
  assert.equal((await at.run("import", join(at.path, "nowhere"))).code, 2);
});

test("a package of a chat that cannot be read keeps neither an export nor the gallery from the others", async (t) => {
  const at = await home(t);
  const name = await at.record("--message", "m2");
  const seed = seedIn(join(at.path, ".."));
  await at.ok("import", seed, "--allow-export");
  const [file = ""] = fs.readdirSync(join(at.path, "chats"));
  const chat = join(at.path, "chats", file);
  fs.rmSync(chat);
  fs.mkdirSync(chat);
  const out = join(at.path, "..", "data");
  await at.ok("export", "--format", "jsonl", "--out", out);
  const { rows, skipped } = readJson(join(out, "export-report.json"));
  assert.deepEqual([rows.total, skipped], [1, [{ name, reason: "unreadable_chat" }]]);
  const { url, stop } = await serveHere(t, at.path);
  const response = await fetch(`${url}/api/feedback`);
  assert.equal(response.status, 200);
  const { packages } = (await response.json()) as { packages: Record<string, unknown>[] };
  const shown = packages.map((each) => [each["name"] === name, each["feedback"] !== null]);
  assert.deepEqual(shown.sort(), [
    [false, true],
    [true, false],
  ]);
  await stop();
});

test("list, verify and export do and print the same while a server has the home", async (t) => {
  const at = await home(t);
  const erased = await at.record("--message", "m2");
  const backup = join(at.path, "..", "backup");
  fs.cpSync(at.folder(erased), backup, { recursive: true });
  await runCli(["sessions", "erase", "local:me", "m2"], { home: at.path });
  fs.cpSync(backup, at.folder(erased), { recursive: true });
  await at.record("--message", "m4");
  await at.ok("import", seedIn(join(at.path, "..")), "--allow-export");
  const all = async (out: string) => {
    const said = [];
    for (const args of [
      ["list"],
      ["list", "--json"],
      ["verify"],
      ["export", "--format", "kto", "--out", join(at.path, "..", out)],
      ["export", "--format", "kto", "--out", join(at.path, "inside")],
    ]) {
      const { code, out: printed, err } = await at.run(...args);
      said.push([code, printed.replaceAll(out, "OUT"), err]);
    }
    return { said, files: bytesUnder(join(at.path, "..", out)) };
  };
  const free = await all("data");
  const { stop } = await serveHere(t, at.path);
  assert.deepEqual(await all("atad"), free);
  const { skipped } = readJson(join(at.path, "..", "data", "export-report.json"));
  const found = skipped.find(({ name }: { name: string }) => name === erased);
  assert.deepEqual(found, { name: erased, reason: "removed_message" });
  await stop();
});

test("a server that is gone in the middle of an export ends it, and leaves nothing of it", async (t) => {
  const at = await home(t);
  await at.record("--message", "m4");
  await using _ = await openThroughline({ home: at.path });
  const other = await noteOther(at.path, (request, response) => {
    if (request.url === "/healthz") response.end('{"version":"0.1.0"}');
    else void other.close();
  });
  const out = join(at.path, "..", "data");
  const { code, err } = await at.run("export", "--format", "jsonl", "--out", out);
  assert.equal(code, 1);
  assert.match(err, /the server at \S+ has this home, and does not answer/);
  assert.equal(fs.existsSync(out), false);
});

test("import makes the home that it imports into; a path that holds nothing makes none", async (t) => {
  const place = temporaryDirectory(t);
  const path = join(place, "home");
  const nothing = await runCli(["feedback", "import", join(place, "nowhere")], { home: path });
  assert.equal(nothing.code, 2);
  assert.equal(fs.existsSync(path), false);
  const { code, out, err } = await runCli(["feedback", "import", seedIn(place)], { home: path });
  assert.deepEqual([code, out], [0, "1 package imported, 0 already here\n"], err);
});

/** A bucket to upload to, and what names it. */
async function bucket(t: TestContext) {
  const server = await S3Server.start({ buckets: ["moments"] });
  t.after(() => server.close());
  process.env["AWS_ACCESS_KEY_ID"] = server.credentials.accessKeyId;
  process.env["AWS_SECRET_ACCESS_KEY"] = server.credentials.secretAccessKey;
  const variables = { FEEDBACK_S3_BUCKET: "moments", AWS_ENDPOINT_URL_S3: server.endpoint };
  return { server, variables };
}

test("in mode s3 what only the bucket has is listed and retracted, what was cut off there a day ago is removed, and what is not known here is deleted with --in-bucket", async (t) => {
  const at = await home(t);
  const { server, variables } = await bucket(t);
  const s3 = { ...variables, FEEDBACK_STORAGE: "s3" };
  const run = (...args: string[]) =>
    runCli(["feedback", ...args], { home: at.path, variables: s3 });
  const sample = samplePackage();
  const prefix = keyPrefix(sample.sessionId, sample.name);
  for (const [path, bytes] of sample.files) server.place(prefix + path, bytes);
  const lost = prefix.replace(sample.name, sample.name.replace("positive", "negative"));
  const longAgo = Date.now() - 48 * 3_600_000;
  server.place(`${lost}messages.json`, Buffer.from("[]"), "moments", longAgo);
  const young = lost.replace("_negative_fb_", "_negative_fb_f").slice(0, -2).concat("/");
  server.place(`${young}messages.json`, Buffer.from("[]"), "moments", Date.now() - 3_600_000);

  await agreeToUpload(at.path);
  const recorded = await run("record", "--sentiment", "positive", "--what", "the joke", "--json");
  assert.equal(recorded.code, 0, recorded.err);
  const [listed, ...more] = JSON.parse((await run("list", "--json")).out);
  assert.deepEqual([listed.state, listed.upload, more], ["bucket", null, []]);
  const { name } = listed;
  assert.match((await run("list")).out, new RegExp(`${name} +bucket .* uploaded`));
  const retracted = await run("retract", name, "--reason", "a slip");
  assert.equal(retracted.code, 0, retracted.err);
  assert.match(retracted.err, /The package is only in the bucket/);
  assert.equal((await run("retract", sample.name)).code, 1, "another device's");
  const removed = await run("purge", "--cut-off");
  assert.deepEqual([removed.code, removed.out], [0, "1 upload cut off, removed from the bucket\n"]);
  assert.equal((await run("purge", "--cut-off", "--max-megabytes", "1")).code, 2);
  assert.equal((await run("upload")).code, 0);
  const mark = server.objects("moments").get(`feedback/00000000/${name}/retracted.json`);
  assert.equal(JSON.parse(mark?.body.toString() ?? "{}").reason, "a slip");
  const keys = [...server.objects("moments").keys()];
  assert.ok(!keys.some((key) => key.startsWith(lost)) && keys.includes(`${young}messages.json`));

  const here = await run("delete", "--all", "--yes");
  assert.equal(here.code, 0, here.err);
  assert.equal((await run("upload")).code, 0);
  assert.equal(server.objects("moments").size, sample.files.size + 1);
  server.fail({ times: 100, does: { kind: "reset" } });
  const away = await run("delete", "--all", "--in-bucket", "--yes");
  assert.equal(away.code, 1);
  assert.match(away.err, /The bucket is unavailable: not all of it was searched/);
  const nowhere = ["feedback", "delete", "--all", "--in-bucket", "--yes"];
  assert.equal((await runCli(nowhere, { home: at.path })).code, 2);
  server.faults.heal();
  assert.equal((await run("delete", "--all", "--in-bucket", "--yes")).code, 0);
  assert.equal(server.objects("moments").size, 1);
});

async function agreeToUpload(path: string): Promise<void> {
  await using throughline = await openThroughline({ home: path });
  const moments = await started(throughline, { consent: undefined });
  await moments.agree({ messages: true, upload: true, wording: consentWording, by: "a test" });
}

test("a package that is not tried again is named so by list and doctor; upload ends with 1 until it is taken", async (t) => {
  const at = await home(t);
  const { server, variables } = await bucket(t);
  const run = (...args: string[]) => runCli(args, { home: at.path, variables });
  const listed = async () => JSON.parse((await run("feedback", "list", "--json")).out)[0].upload;

  await agreeToUpload(at.path);
  server.fail({ times: Number.POSITIVE_INFINITY, does: { kind: "reset" } });
  const recorded = await run(
    ...["feedback", "record", "--sentiment", "positive", "--what", "the joke"],
  );
  assert.equal(recorded.code, 0, recorded.err);
  assert.match((await listed()).state, /^(pending|failed)$/);
  assert.match((await run("feedback", "list")).out, / {2}pending {2}/);
  const away = await run("feedback", "upload");
  assert.deepEqual([away.code, away.out], [1, "1 pending, 0 dead: retry\n"]);

  server.faults.heal();
  const does = { kind: "error", status: 400, code: "KeyTooLongError" } as const;
  server.fail({ operation: "PutObject", times: Number.POSITIVE_INFINITY, does });
  const refused = await run("feedback", "upload");
  assert.deepEqual([refused.code, refused.out], [1, "0 pending, 1 dead: rejected\n"]);
  assert.deepEqual(await listed(), { state: "dead", error: "rejected" });
  assert.match((await run("feedback", "list")).out, / {2}dead: rejected {2}/);
  const doctor = await run("doctor");
  assert.equal(doctor.code, 0);
  assert.match(
    doctor.out,
    /\nnote +1 upload dead \(rejected\): not tried again by itself\. Retry with `throughline feedback upload`/,
  );
  assert.equal((await run("feedback", "upload", "--json")).code, 1);

  server.faults.heal();
  const taken = await run("feedback", "upload");
  assert.deepEqual([taken.code, taken.out], [0, "0 pending, 0 dead\n"]);
  assert.equal(await listed(), null);
  assert.match((await run("feedback", "list")).out, / {2}uploaded {2}/);
  assert.match((await run("doctor")).out, /\nok +no upload is dead\n/);
});
