// "Homes of version 0.1 open unchanged": what people reacted to. Packages, what a killed process left of
// them, and what is still owed to a bucket.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fs from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type Moments, startMoments } from "../src/moments/start-moments.ts";
import {
  assertHolds,
  copyOf,
  expected,
  filesIn,
  notEmpty,
  openAt,
  original,
  throughline,
} from "./support/golden-homes.ts";
import { S3Server } from "./support/s3/s3-server.ts";

const options = { sessionId: "10011001", software: { name: "throughline", version: "0.1.0" } };
const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

/** A package in a listing: what it holds, what became of it, whether each byte is as its digests say. */
interface Listed {
  readonly name: string;
  readonly state: string;
  readonly verified: string;
  readonly status: object | null;
  readonly manifest: {
    readonly what: string;
    readonly salvaged?: boolean;
    readonly spilled?: boolean;
  } | null;
}

async function packagesOf({ packages, recorder }: Moments) {
  const { packages: list, foreign } = await packages.list({ limit: 500 });
  const found: Listed[] = [];
  for (const { status = null, manifest = null, ...entry } of list) {
    const { state: verified, differences } = await packages.verify(entry.name);
    const whole: Listed & { differences: unknown } = {
      ...entry,
      verified,
      differences,
      status,
      manifest,
    };
    found.push(whole);
  }
  return { packages: found, foreign, consent: recorder.consent };
}

const soon = "2026-03-04T09:52:23.400Z";

test("packages of 0.1: what each holds, what became of it, and what was agreed to", async (t) => {
  const home = copyOf(t, "memories");
  const { packages, foreign, consent } = expected("memories")[soon].moments;
  await using memories = await openAt(soon, { home });
  const moments = await startMoments(memories, options);
  assertHolds(await packagesOf(moments), { packages, foreign, consent });
  assert.equal(packages.filter(({ verified }: Listed) => verified === "whole").length, 5);
  // Recorded once more under its key, it is the reaction that 0.1 recorded.
  const key = {
    sentiment: "positive",
    what: "sang",
    source: "http",
    idempotencyKey: "7f3a",
  } as const;
  const { name, durable } = moments.recorder.record(key);
  const first = packages.find(({ manifest }: Listed) => manifest?.what === "sang");
  assert.deepEqual([name, durable], [first.name, true]);
  await memories.close();
  const now = filesIn(home);
  for (const [path, bytes] of original("memories")) assert.deepEqual(now.get(path), bytes, path);
});

test("the command line lists the packages that 0.1 listed, and finds each of them whole", async (t) => {
  const home = copyOf(t, "memories");
  const { packages } = expected("memories")[soon].moments;
  const gist = ({ name, state, status }: Listed) => ({ name, state, status });
  const listed = JSON.parse(await throughline(home, "feedback", "list", "--json"));
  assert.deepEqual(listed.map(gist), packages.map(gist));
  const verified = await throughline(home, "feedback", "verify");
  for (const { name } of packages) assert.match(verified, new RegExp(`${name}.*whole`));
});

const atOnce = "2026-03-05T12:30:20.000Z";

/** Moments of the home `killed`, opened and closed, and what lies in the home then. */
async function recovered(t: TestContext) {
  const home = copyOf(t, "killed");
  await using memories = await openAt(atOnce, { home });
  const listing = await packagesOf(await startMoments(memories, options));
  await memories.close();
  return { listing, files: filesIn(home) };
}

/** The one package that was whole when its process died. */
const sealed = "2026-03-05T12-30-01_positive_";

test("what 0.1 had sealed and what was agreed to are untouched by what its process left beside them", async (t) => {
  const { listing, files } = await recovered(t);
  const { moments } = expected("killed")[atOnce];
  const isSealed = ({ name }: Listed) => name.startsWith(sealed);
  assertHolds(listing.packages.filter(isSealed), notEmpty(moments.packages.filter(isSealed)));
  assertHolds(listing.consent, moments.consent);
  const before = [...original("killed")].filter(([path]) => path.startsWith(`feedback/${sealed}`));
  for (const [path, bytes] of notEmpty(before)) assert.deepEqual(files.get(path), bytes, path);
  assert.deepEqual(files.get("consent.json"), original("killed").get("consent.json"));
});

// 0.1 itself made packages of what was right in a half. Its receipts said `accepted`, and no more.
test("what 0.1 left half written or spilled is set aside as it is, with a report; what is whole but for its name is a package", async (t) => {
  const { listing, files } = await recovered(t);
  const { moments } = expected("killed")[atOnce];
  const isHalf = ({ name }: Listed) => !name.startsWith(sealed);
  const isWhole = ({ manifest }: Listed) => !manifest?.salvaged && !manifest?.spilled;
  const whole = moments.packages.filter(isHalf).filter(isWhole);
  assertHolds(listing.packages.filter(isHalf), notEmpty(whole));
  assert.deepEqual(listing.foreign, []);
  const names = new Set(whole.map(({ name }: Listed) => name));
  const halves = [...original("killed")].filter(([path]) => {
    const [, name = ""] = /^feedback\/([^/.]+)\.(?:partial|salvaging|spill)\b/.exec(path) ?? [];
    return name !== "" && !names.has(name);
  });
  for (const [path, bytes] of notEmpty(halves)) {
    const kept = path.replace("feedback/", "quarantine/feedback-");
    assert.deepEqual(files.get(kept), bytes, kept);
    const [entry = ""] = kept.slice("quarantine/".length).split("/");
    assert.ok(files.has(`quarantine/${entry}.json`), "the report beside it");
  }
});

test("what 0.1 had begun to delete is gone, and nothing half is left among the packages", async (t) => {
  const { files } = await recovered(t);
  const halves = /^feedback\/[^/]+\.(partial|salvaging|spill|deleting)\b/;
  const before = [...original("killed").keys()].filter((path) => halves.test(path));
  assert.ok(before.some((path) => path.includes(".deleting/")));
  assert.deepEqual(
    [...files.keys()].filter((path) => halves.test(path)),
    [],
  );
  assert.deepEqual(
    [...files.keys()].filter((path) => path.includes("_3a6c944c31f7")),
    [],
  );
});

/** The home `owed` with its bucket, at the address that a server of today has. */
async function owedHome(t: TestContext) {
  const home = copyOf(t, "owed");
  const server = await S3Server.start();
  t.after(() => server.close());
  const at = Date.parse("2026-03-06T10:00:00.000Z");
  for (const [key, body] of original("owed.bucket")) server.place(key, body, "moments", at);
  for (const name of fs.readdirSync(join(home, "outbox"))) {
    const path = join(home, "outbox", name);
    const entry = JSON.parse(fs.readFileSync(path, "utf8"));
    if (entry.target.endpoint !== null) entry.target.endpoint = server.endpoint;
    fs.writeFileSync(path, `${JSON.stringify(entry, undefined, 2)}\n`);
  }
  return { home, server };
}

const whenBack = "2026-03-06T12:00:00.000Z";

/** Opens the home, asks for its uploads, and closes it. @returns what it holds, and what is owed still. */
async function upload(home: string, { endpoint, credentials }: S3Server) {
  await using memories = await openAt(whenBack, { home });
  const s3 = { bucket: "moments", endpoint, credentials };
  const moments = await startMoments(memories, { ...options, mode: "local+s3", s3 });
  await moments.upload();
  const { pending, parked } = moments.statistics().outbox ?? {};
  return { listing: await packagesOf(moments), pending, parked };
}

/** Of one package the process of 0.1 had written a half, and noted that it would owe it. */
const half = "_1e75c4f4eb4f";

/** Everything but that half is done, as 0.1 did it when its bucket came back. */
async function assertSettled(home: string, server: S3Server): Promise<void> {
  const { moments, bucket, names } = expected("owed");
  const { listing, pending, parked } = await upload(home, server);
  const isWhole = ({ name }: Listed) => !name.endsWith(half);
  assertHolds(listing.packages.filter(isWhole), notEmpty(moments.packages.filter(isWhole)));
  assertHolds(listing.consent, moments.consent);
  assert.deepEqual([pending, parked], [moments.outbox.pending, moments.outbox.parked]);
  const objects = [...server.objects()].map(([key, { body }]) => [key, sha256(body)] as const);
  const isOfWhole = ([key]: readonly [string, string]) => !key.includes(half);
  assert.deepEqual(objects.filter(isOfWhole).sort(), notEmpty(bucket.filter(isOfWhole)));
  assert.deepEqual(server.journal.brokenInstants, [], "no package was ever seen in part");
  assertDone(server.objects(), home, names);
}

/** The same in words, in case the listing of 0.1 is wrong. */
function assertDone(
  objects: ReturnType<S3Server["objects"]>,
  home: string,
  names: Readonly<Record<string, string>>,
): void {
  const keysOf = (name = "") => [...objects.keys()].filter((key) => key.includes(`/${name}/`));
  for (const gone of ["deleted", "forgotten", "noted", "unnoted", "cut"]) {
    assert.deepEqual(keysOf(names[gone]), [], `${gone} is in the bucket no more`);
    const left = [...filesIn(home).keys()].filter((path) => path.includes(String(names[gone])));
    assert.deepEqual(left, [], `nothing of ${gone} is left here`);
  }
  for (const there of ["sent", "retracted", "pending"]) {
    const name = names[there] ?? "";
    const folder = filesIn(join(home, "feedback", name));
    const keys = keysOf(name).filter((key) => !key.endsWith("/retracted.json"));
    assert.equal(notEmpty(keys).length, folder.size, there);
    for (const key of keys) {
      const path = key.slice(key.indexOf(name) + name.length + 1);
      assert.deepEqual(objects.get(key)?.body, folder.get(path), key);
    }
  }
  const mark = keysOf(names["retracted"]).find((key) => key.endsWith("/retracted.json"));
  assert.match(String(objects.get(mark ?? "")?.body), /"reason": "it was a secret"/);
  assert.deepEqual(keysOf(names["local"]), [], "what was not to leave the machine did not");
  // In mode `s3` there was a copy here for as long as the bucket was away.
  assert.ok(keysOf(names["brief"]).length > 1);
  assert.equal(fs.existsSync(join(home, "feedback", names["brief"] ?? "")), false);
  // The bucket has something else in its place: both stay where they are.
  assert.equal(keysOf(names["refused"]).length, 1);
  assert.ok(filesIn(join(home, "feedback", names["refused"] ?? "")).size > 1);
}

test("what 0.1 owed to a bucket is sent, taken back and deleted once the bucket is back", async (t) => {
  const { home, server } = await owedHome(t);
  await assertSettled(home, server);
});

test("what 0.1 owed stays owed as long as the bucket is away, and is done afterwards", async (t) => {
  const { home, server } = await owedHome(t);
  const before = new Map(server.objects());
  server.fail({ does: { kind: "reset" }, times: Number.POSITIVE_INFINITY });
  for (const attempt of ["first", "second"]) {
    const { listing, pending = 0 } = await upload(home, server);
    assert.ok(pending > 0, `nothing was owed after the ${attempt} attempt`);
    for (const { name, verified } of notEmpty(listing.packages))
      assert.equal(verified, "whole", name);
    assert.deepEqual(new Map(server.objects()), before);
  }
  server.faults.heal();
  await assertSettled(home, server);
});

test("a half of 0.1 that was to be sent is set aside, and nothing of it is sent", async (t) => {
  const { home, server } = await owedHome(t);
  const { listing } = await upload(home, server);
  const isHalf = ({ name }: Listed) => name.endsWith(half);
  assert.deepEqual(listing.packages.filter(isHalf), []);
  assert.deepEqual(
    [...server.objects().keys()].filter((key) => key.includes(half)),
    [],
  );
  const aside = fs.readdirSync(join(home, "quarantine")).filter((entry) => entry.includes(half));
  assert.equal(aside.length, 2, "the half, and its report");
  const left = fs.readdirSync(join(home, "feedback")).filter((entry) => entry.includes(half));
  assert.deepEqual(left, []);
});
