import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { samplePackage } from "../../../test/support/feedback-packages.ts";
import { wavHeader } from "./content.ts";
import { readManifest, writeManifest } from "./manifest.ts";
import { isPackageName, isUuidV7, makeUuidV7, packageName, packageStamp } from "./package-name.ts";

const file = (path: string) => ({ path, bytes: 9, sha256: "ab".repeat(32), media_type: "x/y" });

const correction = { text: "quieter", kind: "note" } as const;
const given = { what: "told a joke \u2028 \ud83d", correction };
const { manifest } = samplePackage(0, { frames: [-1], samples: 320, manifest: given });

const problemOf = (bytes: Uint8Array) => readManifest(bytes).problem?.kind;

test("a manifest reads back as it was written, ends with its CRC on a line of its own, and is the same bytes each time", () => {
  const bytes = writeManifest(manifest);
  assert.deepEqual(readManifest(bytes), { manifest });
  assert.match(bytes.toString(), /,\n {2}"crc32": "[0-9a-f]{8}"\n}\n$/);
  assert.deepEqual(writeManifest(manifest), bytes);
});

test("any flipped bit of a manifest is found", () => {
  const whole = writeManifest(manifest);
  fc.assert(
    fc.property(fc.nat(whole.length * 8 - 1), (bit) => {
      const bytes = Buffer.from(whole);
      bytes[bit >> 3]! ^= 1 << (bit & 7);
      assert.notEqual(problemOf(bytes), undefined);
    }),
    { numRuns: 300 },
  );
});

test("a manifest that is cut anywhere is not one", () => {
  const whole = writeManifest(manifest);
  for (let length = 0; length < whole.length; length += 7) {
    assert.notEqual(problemOf(whole.subarray(0, length)), undefined, `${length}`);
  }
});

const others = manifest.files.slice(1);
const changes: readonly [name: string, change: object, kind: string][] = [
  ["of a later schema", { schema: "throughline.feedback/2" }, "newer"],
  ["of a schema of somebody else", { schema: "other/1" }, "damaged"],
  ["of the original, without a schema", { schema: undefined }, "seed"],
  ["with a sentiment that is a path", { sentiment: "../../x" }, "damaged"],
  ["with a name that is another's", { name: samplePackage(1).name }, "damaged"],
  ["with a name of the other sentiment", { sentiment: "negative" }, "damaged"],
  ["with a name that leads out", { name: "../x" }, "damaged"],
  ["with an id that is not of its uuid", { id: "00000000abcd" }, "damaged"],
  ["with a file that leads out", { files: [file("../x"), ...others] }, "damaged"],
  ["that lists a file twice", { files: [...others, file("audio.wav")] }, "damaged"],
  ["that lists a file too few", { files: others }, "damaged"],
  ["that counts a frame too many", { num_frames: 2 }, "damaged"],
  ["with a time that is text", { timestamp: "1" }, "damaged"],
  ["without consent", { consent: undefined }, "damaged"],
];
for (const [name, change, kind] of changes) {
  test(`a manifest ${name} is ${kind}`, () => {
    assert.equal(problemOf(writeManifest({ ...manifest, ...change })), kind);
  });
}

test("members that are not known are kept", () => {
  const more = { ...manifest, mood: "happy" };
  assert.deepEqual(readManifest(writeManifest(more)), { manifest: more });
});

test("a uuid is of version 7, holds the time, and its last 12 digits make the name", () => {
  const at = Date.parse("2026-02-19T15:30:00.999Z");
  const uuid = makeUuidV7(at, (bytes) => bytes.fill(0xff));
  assert.equal(Number.parseInt(uuid.replaceAll("-", "").slice(0, 12), 16), at);
  assert.ok(isUuidV7(uuid));
  const name = packageName(packageStamp(at), "negative", uuid);
  assert.equal(name, "2026-02-19T15-30-00_negative_fb_ffffffffffff");
  assert.ok(isPackageName(name));
});

for (const at of [0, -1, Number.NaN, 1e18]) {
  test(`a wall clock at ${at} makes a name and a uuid that are right`, () => {
    const uuid = makeUuidV7(at, (bytes) => bytes.fill(1));
    assert.ok(isUuidV7(uuid) && isPackageName(packageName(packageStamp(at), "positive", uuid)));
  });
}

test("the header of a WAV file of 3 samples is 44 bytes, as RIFF has it", () => {
  const hex =
    "524946462a00000057415645666d74201000000001000100803e0000007d000002001000646174610600";
  assert.equal(wavHeader(3).toString("hex"), `${hex}0000`);
});
