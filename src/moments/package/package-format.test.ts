import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { wavHeader } from "./content.ts";
import { readManifest, writeManifest } from "./manifest.ts";
import { isPackageName, isUuidV7, makeUuidV7, packageName, packageStamp } from "./package-name.ts";
import type { Manifest } from "./record.ts";

const file = (path: string) => ({ path, bytes: 9, sha256: "ab".repeat(32), media_type: "x/y" });

const manifest: Manifest = {
  id: "00000000abcd",
  timestamp: 1_740_000_600.123,
  timestamp_str: "2026-02-19T15-30-00",
  sentiment: "positive",
  what: "told a joke \u2028 \ud83d",
  trigger: "",
  num_messages: 1,
  num_frames: 1,
  audio_chunks: 1,
  session_id: "a1b2c3d4",
  chat_id: null,
  provider: null,
  model: null,
  source: "http",
  audio_samples: 320,
  schema: "throughline.feedback/1",
  uuid: "01920000-0000-7000-8000-00000000abcd",
  name: "2026-02-19T15-30-00_positive_fb_00000000abcd",
  channel: "touch",
  score: 1,
  correction: { text: "quieter", kind: "note" },
  annotator: { kind: "human", id: null },
  target: {
    turn_id: "t1",
    message_ids: ["a"],
    index: 0,
    count: 1,
    how: "last-assistant",
    partial: false,
    interrupted: false,
  },
  target_reason: null,
  trigger_turn: null,
  people: ["Ann"],
  matched: [],
  consent: {
    messages: true,
    frames: true,
    audio: true,
    upload: false,
    export: false,
    wording: "w",
    timestamp: 1,
    by: null,
  },
  redactions: [],
  reduced: null,
  supersedes: null,
  trace: null,
  latched: {},
  window: { pre_ms: 1, post_ms: 0, from: "ring", first_seq: 1, last_seq: 1 },
  frames: [
    {
      file: "frames/000000.jpg",
      t_ms: -1,
      timestamp: 1,
      seq: 1,
      width: 2,
      height: 2,
      camera: null,
      source_t_ms: null,
    },
  ],
  audio: {
    file: "audio.wav",
    rate_hz: 16_000,
    channels: 1,
    bits: 16,
    samples: 320,
    start_t_ms: -20,
    source_t_ms: null,
  },
  software: { name: "throughline", version: "1.0.0" },
  sealed_timestamp: 2,
  files: [file("messages.json"), file("audio.wav"), file("frames/000000.jpg")],
};

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

const changes: readonly [name: string, change: object, kind: string][] = [
  ["of a later schema", { schema: "throughline.feedback/2" }, "newer"],
  ["of a schema of somebody else", { schema: "other/1" }, "damaged"],
  ["of the original, without a schema", { schema: undefined }, "seed"],
  ["with a sentiment that is a path", { sentiment: "../../x" }, "damaged"],
  [
    "with a name that is another's",
    { name: "2026-02-19T15-30-00_negative_fb_00000000abcd" },
    "damaged",
  ],
  ["with a name that leads out", { name: "../x" }, "damaged"],
  ["with an id that is not of its uuid", { id: "00000000abce" }, "damaged"],
  ["with a file that leads out", { files: [file("../x"), ...manifest.files.slice(1)] }, "damaged"],
  [
    "that lists a file twice",
    { files: [...manifest.files.slice(1), file("audio.wav")] },
    "damaged",
  ],
  ["that lists a file too few", { files: manifest.files.slice(1) }, "damaged"],
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
