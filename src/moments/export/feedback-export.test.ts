import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { parquetMetadata } from "hyparquet";
import {
  exported,
  lines,
  parquetBytes,
  parquetRows,
  tarMembers,
} from "../../../test/support/feedback-export-files.ts";
import {
  filesUnder,
  type Line,
  type PackageShape,
  redJpeg,
  SampleSource,
  samplePackage,
} from "../../../test/support/feedback-packages.ts";
import { SimulatedDisk } from "../../../test/support/simulated-disk.ts";
import { realDisk } from "../../core/storage/disk/disk.ts";
import { exportFeedback } from "./export-feedback.ts";
import {
  type ExportProgress,
  type FeedbackExportOptions,
  feedbackExportFormats,
} from "./options.ts";

type Row = Record<string, unknown>;

const replacement = { text: "I would rather sing.", kind: "replacement" } as const;
const dance: Line[] = [
  ["USER", "Dance!"],
  [
    "ASSISTANT",
    "Look.",
    { tool_calls: [{ id: "c1", type: "function", function: { name: "dance", arguments: "{}" } }] },
  ],
  ["TOOL", "danced", { tool_call_id: "c1" }],
  ["ASSISTANT", "There."],
  ["USER", "No, not like that."],
];
/** A joke with picture and sound; a dance that was corrected; one that was taken back. */
const three = [
  samplePackage(0, { frames: [-8_000, -4_000, -500], samples: 320 }),
  samplePackage(1, {
    lines: dance,
    target: [1, 3],
    manifest: {
      sentiment: "negative",
      score: -0.5,
      correction: replacement,
      what: "danced",
      latched: { system_prompt: "You are a small robot.", tools: [{ name: "dance" }] },
    },
  }),
  samplePackage(2, { listed: { retracted: true } }),
];

const golden: readonly (readonly [folder: string, options: FeedbackExportOptions])[] = [
  ["kto", { format: "kto" }],
  ["kto-vision", { format: "kto-vision" }],
  ["dpo", { format: "dpo" }],
  ["dpo-openai", { format: "dpo", style: "openai" }],
  ["webdataset", { format: "webdataset" }],
  ["webdataset-per-frame", { format: "webdataset", layout: "per-frame", audio: false }],
  ["imagefolder", { format: "imagefolder" }],
  ["jsonl", { format: "jsonl" }],
];
for (const [folder, options] of golden) {
  test(`an export with ${JSON.stringify(options)} is byte for byte the one that is kept`, async () => {
    const kept = await filesUnder(realDisk, join("test/golden/feedback-export", folder));
    const { files } = await exported(three, options);
    assert.ok(kept !== undefined);
    assert.deepEqual([...files.keys()], [...kept.keys()]);
    for (const [path, bytes] of kept) assert.ok(files.get(path)?.equals(bytes), path);
  });

  test(`a second export with ${JSON.stringify(options)} is the same bytes in whatever order packages are listed`, async () => {
    const { files } = await exported(three, options);
    assert.deepEqual((await exported(three.toReversed(), options)).files, files);
  });
}

describe("kto-vision", () => {
  test("has exactly this schema, and the key that makes pictures of `images`", async () => {
    const { files } = await exported(three, { format: "kto-vision" });
    const file = parquetMetadata(parquetBytes(files.get("train-00000-of-00001.parquet")));
    const drawn = file.schema.map((part) => {
      const { repetition_type, type, name, converted_type, logical_type, num_children } = part;
      assert.equal(logical_type?.type, { UTF8: "STRING", LIST: "LIST" }[converted_type as string]);
      return [repetition_type, type ?? `group(${num_children})`, name, converted_type]
        .filter((word) => word !== undefined)
        .join(" ");
    });
    const list = (name: string, fields: readonly string[]) => [
      `OPTIONAL group(1) ${name} LIST`,
      "REPEATED group(1) list",
      ...["OPTIONAL group(2) element", ...fields],
    ];
    const text = (name: string) => `OPTIONAL BYTE_ARRAY ${name} UTF8`;
    const content = list("content", [text("type"), text("text")]);
    assert.deepEqual(drawn, [
      ...["group(5) schema", text("id")],
      ...list("prompt", [text("role"), ...content]),
      ...list("completion", [text("role"), ...content]),
      "OPTIONAL BOOLEAN label",
      ...list("images", ["OPTIONAL BYTE_ARRAY bytes", text("path")]),
    ]);
    const S = { dtype: "string", _type: "Value" };
    const M = {
      feature: { role: S, content: { feature: { type: S, text: S }, _type: "List" } },
      _type: "List",
    };
    const label = { dtype: "bool", _type: "Value" };
    const images = { feature: { _type: "Image" }, _type: "List" };
    const features = { id: S, prompt: M, completion: M, label, images };
    const value = JSON.stringify({ info: { features } });
    assert.deepEqual(file.key_value_metadata, [{ key: "huggingface", value }]);
  });

  test("has as many places as pictures, at the last user's message, and a list where there is none", async () => {
    const { files } = await exported(three, { format: "kto-vision", maxFrames: 2 });
    const rows = await parquetRows(files.get("train-00000-of-00001.parquet"));
    const image = { type: "image", text: null };
    const text = (text: string) => ({ type: "text", text });
    const system = { role: "system", content: [text("You are a small robot.")] };
    const answer = "Why did the cat sit on the computer?\n\nTo keep an eye on the mouse.";
    const path = (n: number) => `${three[0]?.name}/frames/00000${n}.jpg`;
    const bytes = new Uint8Array(redJpeg);
    assert.deepEqual(rows, [
      {
        id: "000000000000",
        prompt: [system, { role: "user", content: [image, image, text("Tell me a joke.")] }],
        completion: [{ role: "assistant", content: [text(answer)] }],
        label: true,
        images: [
          { bytes, path: path(0) },
          { bytes, path: path(2) },
        ],
      },
      {
        id: "000000000001",
        prompt: [
          system,
          { role: "user", content: [text("Dance!")] },
          { role: "assistant", content: [text("Look.")] },
          { role: "tool", content: [text("danced")] },
        ],
        completion: [{ role: "assistant", content: [text("There.")] }],
        label: false,
        images: [],
      },
    ]);
  });
});

describe("kto", () => {
  test("has these members in this order, with one type each, and a score that is no integer", async () => {
    const { files } = await exported(three, { format: "kto" });
    const rows = lines(files.get("train.jsonl"));
    assert.equal(rows.length, 2);
    for (const row of rows) {
      assert.deepEqual(
        Object.entries(row).map(([name, value]) => `${name}: ${kind(value)}`),
        [
          ...["id: string", "prompt: {role,content}[]", "completion: {role,content}[]"],
          ...["label: boolean", "score: number", "what: string", "trigger: string"],
          ...["session_id: string", "created_at: string"],
        ],
      );
      assert.match(String(row["created_at"]), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    }
    assert.match(String(files.get("train.jsonl")), /"score":1\.0,[^\n]*\n[^\n]*"score":-0\.5,/);
  });
});

function kind(value: unknown): string {
  if (!Array.isArray(value)) return typeof value;
  const kinds = new Set(value.map((item) => `{${Object.keys(item)}}`));
  assert.equal(kinds.size, 1);
  return `${[...kinds]}[]`;
}

describe("imagefolder", () => {
  test("has each picture that a row names, and names no path that leads out", async () => {
    const { files } = await exported(three, { format: "imagefolder" });
    const rows = lines(files.get("metadata.jsonl"));
    for (const row of rows) {
      assert.deepEqual(Object.keys(row), [
        "id",
        "prompt",
        "completion",
        "label",
        "images_file_names",
      ]);
    }
    const named = rows.flatMap((row) => row["images_file_names"] as string[]);
    assert.equal(named.length, 3);
    for (const path of named) {
      assert.match(path, /^[\w-]+\/frames\/\d{6}\.jpg$/);
      assert.ok(files.get(path)?.equals(redJpeg));
    }
    assert.deepEqual(rows[1]?.["images_file_names"], []);
    assert.match(String(files.get("README.md")), /drop_labels: true/);
    assert.match(String(files.get("README.md")), /"metadata\.jsonl","\*\/frames\/\*\.jpg"/);
  });
});

test("a card of imagefolder without a picture names no pattern that would match nothing", async () => {
  const { files } = await exported([samplePackage(0)], { format: "imagefolder" });
  assert.match(String(files.get("README.md")), /path: \["metadata\.jsonl"\]/);
  assert.doesNotMatch(String(files.get("README.md")), /drop_labels/);
});

describe("webdataset", () => {
  test("has the same members for each package, side by side, empty where there is nothing", async () => {
    const { files } = await exported(three, { format: "webdataset" });
    const found = await tarMembers(files.get("shard-000000.tar"));
    const names = three.slice(0, 2).map(({ name }) => name);
    assert.deepEqual(
      [...found.keys()],
      names.flatMap((name) => [`${name}.json`, `${name}.wav`, `${name}.frames.tar`]),
    );
    const [first, second] = names;
    const wav = found.get(`${first}.wav`);
    assert.ok(wav?.equals(three[0]?.files.get("audio.wav") ?? Buffer.alloc(0)));
    const silence = found.get(`${second}.wav`);
    assert.deepEqual(
      [silence?.length, silence?.readUInt32LE(4), silence?.readUInt32LE(40)],
      [44, 36, 0],
    );
    const frames = await tarMembers(found.get(`${first}.frames.tar`));
    assert.deepEqual([...frames.keys()], ["000000.jpg", "000001.jpg", "000002.jpg"]);
    assert.ok(frames.get("000001.jpg")?.equals(redJpeg));
    assert.equal((await tarMembers(found.get(`${second}.frames.tar`))).size, 0);
    const row = JSON.parse(String(found.get(`${first}.json`)));
    assert.deepEqual([row.num_frames, row.audio_samples], [3, 320]);
    assert.deepEqual(JSON.parse(row.record), three[0]?.manifest);
  });

  test("has a member for each picture with layout per-frame, and no sound without audio", async () => {
    const options = { format: "webdataset", layout: "per-frame", audio: false } as const;
    const { files } = await exported(three, options);
    const found = await tarMembers(files.get("shard-000000.tar"));
    const [first, second] = three.map(({ name }) => name);
    assert.deepEqual(
      [...found.keys()],
      [`${first}.json`, ...[0, 1, 2].map((n) => `${first}.00000${n}.jpg`), `${second}.json`],
    );
    for (const name of found.keys()) assert.match(name, /^[^./]+\.(json|\d{6}\.jpg)$/);
  });
});

test("jsonl has packages that judge no turn too, whole", async () => {
  const none = samplePackage(5, { target: null, samples: 16 });
  const { files } = await exported([none], { format: "jsonl" });
  const [row] = lines(files.get("packages.jsonl"));
  const { name, manifest: record, messages } = none;
  assert.deepEqual(row, { name, record, messages, media: [`${name}/audio.wav`] });
});

describe("an export without rows", () => {
  for (const format of feedbackExportFormats) {
    test(`of ${format} has no data file, and a card that names none`, async () => {
      const { files, report } = await exported([], { format });
      assert.deepEqual([...files.keys()], ["README.md", "croissant.json", "export-report.json"]);
      assert.doesNotMatch(String(files.get("README.md")), /configs/);
      assert.equal(report.rows.total, 0);
    });
  }
});

for (const format of ["kto-vision", "imagefolder", "webdataset"] as const) {
  test(`a row of ${format} lacks pictures that are corrupt, and the report names each`, async () => {
    const cut = redJpeg.subarray(0, 200);
    const frames = [
      [-3_000, cut],
      [-2_000, redJpeg],
      [-1_000, Buffer.alloc(0)],
    ] as const;
    const one = samplePackage(0, { frames });
    const { report } = await exported([one], { format });
    assert.deepEqual([report.rows.total, report.rows.frames], [1, 1]);
    const reason = "corrupt_frame";
    assert.deepEqual(report.skipped, [
      { name: one.name, reason, file: "frames/000000.jpg" },
      { name: one.name, reason, file: "frames/000002.jpg" },
    ]);
    assert.deepEqual([report.reasons.corrupt_frame, report.packages.skipped], [2, 0]);
  });
}

test("a decoder that was given has the last word on a picture", async () => {
  const one = samplePackage(0, { frames: [-2_000, -1_000] });
  const options = { format: "kto-vision", decodes: async () => false } as const;
  const { report } = await exported([one], options);
  assert.deepEqual(
    [report.rows.total, report.rows.frames, report.reasons.corrupt_frame],
    [1, 0, 2],
  );
});

describe("the report", () => {
  const export_ = { ...samplePackage(0).manifest.consent, export: false };
  const rows: readonly (readonly [reason: string, shape: PackageShape, format?: "dpo"])[] = [
    ["unverified", { listed: { sealed: false } }],
    ["newer", { listed: { newer: true, sealed: false } }],
    ["retracted", { listed: { retracted: true } }],
    ["superseded", { listed: { superseded: true } }],
    ["no_consent", { manifest: { consent: export_ } }],
    ["no_target", { target: null }],
    ["synthetic_prompt", { lines: [["ASSISTANT", "Hello!"]], target: [0, 0] }],
    [
      "empty_completion",
      {
        lines: [
          ["USER", "Hi"],
          ["ASSISTANT", ""],
        ],
        target: [1, 1],
      },
    ],
    ["no_correction", {}, "dpo"],
  ];
  for (const [reason, shape, format = "kto"] of rows) {
    test(`names a package that was left out as ${reason}`, async () => {
      const one = samplePackage(0, shape);
      const { report, reads } = await exported([one], { format });
      assert.deepEqual(report.skipped, [{ name: one.name, reason }]);
      assert.deepEqual([report.packages.listed, report.packages.skipped], [1, 1]);
      // What must not be exported for what the listing says is not even read.
      if (shape.listed !== undefined) assert.deepEqual(reads, []);
    });
  }

  test("names the earlier of two judgements of one turn, also where the later is filtered out", async () => {
    const turn = { turn_id: "t1" };
    const lines: Line[] = [
      ["USER", "Hi", turn],
      ["ASSISTANT", "Hello", { ...turn, id: "t1:answer" }],
    ];
    const shape = { lines, target: [1, 1] } as const;
    const later = samplePackage(1, { ...shape, manifest: { sentiment: "negative" } });
    const two = [samplePackage(0, shape), later];
    const skipped = [{ name: two[0]?.name, reason: "later_judgement" }];
    for (const filters of [{}, { sentiment: "positive" }] as const) {
      const { report } = await exported(two, { format: "kto", filters });
      assert.deepEqual(report.skipped, skipped);
    }
    const { report } = await exported(two, { format: "jsonl" });
    assert.deepEqual([report.rows.total, report.skipped], [2, []]);
  });

  test("has no word of a package that was made without consent to words", async () => {
    const lines: Line[] = [["USER", "a secret", { turn_id: "t1" }]];
    const consent = { ...samplePackage(0).manifest.consent, messages: false };
    const one = samplePackage(0, { lines, target: null, manifest: { consent } });
    const { report, files } = await exported([one], { format: "jsonl" });
    assert.equal(report.rows.total, 1);
    const told = [...files.values()].map((bytes) => Buffer.from(bytes).toString());
    assert.doesNotMatch(told.join(""), /a secret/);
  });

  test("keeps what was judged of an answer when the one that took its place is judged too", async () => {
    const answered = (text: string, id: string): Line[] => [
      ["USER", "Hi", { turn_id: "t1" }],
      ["ASSISTANT", text, { turn_id: "t1", id }],
    ];
    const first = { lines: answered("Go away", "t1:answer"), target: [1, 1] } as const;
    const again = { lines: answered("Hello", "t1:answer:r1"), target: [1, 1] } as const;
    const two = [samplePackage(0, { ...first, manifest: { sentiment: "negative" } })];
    two.push(samplePackage(1, again));
    const { report } = await exported(two, { format: "kto" });
    assert.deepEqual([report.rows.total, report.skipped], [2, []]);
  });

  test("names the earlier of two judgements also where the later is damaged", async () => {
    const turn = { turn_id: "t1" };
    const lines: Line[] = [
      ["USER", "Hi", turn],
      ["ASSISTANT", "Hello", { ...turn, id: "t1:answer" }],
    ];
    const shape = { lines, target: [1, 1] } as const;
    const [earlier, later] = [samplePackage(0, shape), samplePackage(1, { ...shape, samples: 16 })];
    later.files.set("audio.wav", Buffer.from("rotten"));
    const { report } = await exported([earlier, later], { format: "kto" });
    const { later_judgement, unverified } = report.reasons;
    assert.deepEqual([later_judgement, unverified, report.rows.total], [1, 1, 0]);
  });

  test("counts what the filters did not ask for, and lists none of it", async () => {
    const filters = { person: "Grace" };
    const grace = samplePackage(1, { manifest: { people: ["Grace"] } });
    const { report } = await exported([samplePackage(0), grace], { format: "kto", filters });
    assert.deepEqual(report.packages, { listed: 2, exported: 1, not_selected: 1, skipped: 0 });
    assert.equal(report.filters.person, "Grace");
  });

  for (const path of ["feedback.json", "messages.json", "audio.wav", "frames/000000.jpg"]) {
    test(`names a package as unverified whose ${path} changed or went after the listing`, async () => {
      for (const change of ["flipped", "gone"]) {
        const one = samplePackage(0, { frames: [-1_000], samples: 16 });
        const bytes = Buffer.from(one.files.get(path) ?? []);
        bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
        if (change === "gone") one.files.delete(path);
        else one.files.set(path, bytes);
        const { report, files } = await exported([one], { format: "webdataset" });
        assert.deepEqual(report.skipped, [{ name: one.name, reason: "unverified" }]);
        assert.equal(files.has("shard-000000.tar"), false);
      }
    });
  }
});

test("each file of a package is read once, whether or not the format has use for it", async () => {
  const one = samplePackage(0, { frames: [-2_000, -1_000], samples: 16 });
  const all = one.manifest.files.map(({ path }) => `${one.name}/${path}`).sort();
  for (const [, options] of golden) {
    const { reads, hashes } = await exported([one], options);
    const read = [...reads, ...hashes].filter((path) => !path.endsWith("/feedback.json"));
    assert.deepEqual(read.sort(), options.format === "dpo" ? [`${one.name}/messages.json`] : all);
  }
});

test("a damaged file keeps its package out of formats too that have no use for it", async () => {
  for (const path of ["audio.wav", "frames/000000.jpg"]) {
    for (const format of ["kto", "kto-vision", "imagefolder", "jsonl", "webdataset"] as const) {
      const one = samplePackage(0, { frames: [-1_000], samples: 16 });
      one.files.set(path, Buffer.from("rotten"));
      const { report } = await exported([one, samplePackage(1)], { format });
      assert.deepEqual(report.skipped, [{ name: one.name, reason: "unverified" }], format);
      assert.equal(report.rows.total, 1);
    }
  }
});

test("a file of another size than is listed is not read", async () => {
  for (const path of ["messages.json", "audio.wav", "frames/000000.jpg"]) {
    const one = samplePackage(0, { frames: [-1_000], samples: 16 });
    one.files.set(path, Buffer.concat([one.files.get(path) ?? Buffer.alloc(0), Buffer.alloc(1)]));
    const source = new SampleSource([one]);
    const read: string[] = [];
    source.beforeRead = async (each) => void read.push(each);
    const disk = new SimulatedDisk();
    const report = await exportFeedback(source, disk, "/out", { format: "webdataset" });
    assert.deepEqual(report.skipped, [{ name: one.name, reason: "unverified" }]);
    assert.equal(read.includes(`${one.name}/${path}`), false);
  }
});

test("a picture that is no picture is not told of where its package is left out", async () => {
  const noPicture = Buffer.from("no picture");
  const one = samplePackage(0, { frames: [[-1_000, noPicture]], samples: 16 });
  const kept = await exported([one], { format: "imagefolder" });
  assert.equal(kept.report.reasons.corrupt_frame, 1);
  one.files.set("audio.wav", Buffer.from("rotten"));
  const { report } = await exported([one], { format: "imagefolder" });
  assert.deepEqual(report.skipped, [{ name: one.name, reason: "unverified" }]);
});

test("pictures and sound without consent are in no row", async () => {
  const { consent } = samplePackage(0).manifest;
  const manifest = { consent: { ...consent, frames: false, audio: false } };
  const one = samplePackage(0, { frames: [-1_000], samples: 320, manifest });
  for (const format of ["kto-vision", "imagefolder", "webdataset"] as const) {
    const { report, reads } = await exported([one], { format });
    assert.deepEqual([report.rows.total, report.rows.frames], [1, 0]);
    assert.deepEqual(
      reads.filter((path) => /jpg|wav/.test(path)),
      [],
    );
  }
});

test("progress tells each package of both phases, in order", async () => {
  const steps: ExportProgress[] = [];
  await exported(three, { format: "kto", onProgress: (step) => steps.push(step) });
  assert.deepEqual(
    steps.map(({ phase, done, total, rows }) => [phase, done, total, rows]),
    [
      ["select", 1, 2, 0],
      ["select", 2, 2, 0],
      ["write", 1, 2, 1],
      ["write", 2, 2, 2],
    ],
  );
});

test("Croissant has a hash of each file with rows, and its columns", async () => {
  for (const [, options] of golden) {
    const { files, report } = await exported(three, options);
    const found = JSON.parse(String(files.get("croissant.json")));
    assert.equal(found["@type"], "sc:Dataset");
    assert.equal(found.conformsTo, "http://mlcommons.org/croissant/1.0");
    const hashes = found.distribution.flatMap((one: Row) => one["sha256"] ?? []);
    const inTop = report.files.filter(({ path }) => !path.includes("/"));
    assert.deepEqual(
      hashes,
      inTop.map(({ sha256 }) => sha256),
    );
    const types = found.recordSet[0].field.map((field: Row) => field["dataType"]);
    for (const type of types) {
      assert.match(type, /^sc:(Text|Boolean|Float|ImageObject|AudioObject)$/);
    }
  }
});

for (const [says, options] of [
  ["an unknown format", { format: "csv" }],
  ["maxFrames of 241", { format: "kto", maxFrames: 241 }],
  ["maxFrames of 1.5", { format: "kto", maxFrames: 1.5 }],
  ["maxPromptChars of 0", { format: "kto", maxPromptChars: 0 }],
  ["a filter that there is not", { format: "kto", filters: { min_score: 1 } }],
  ["minScore of 2", { format: "kto", filters: { minScore: 2 } }],
] as const) {
  test(`${says} is a configuration error, before anything is written`, async () => {
    const disk = new SimulatedDisk();
    const source = new SampleSource([]);
    const ended = exportFeedback(source, disk, "/out", options as FeedbackExportOptions);
    await assert.rejects(ended, { code: "THROUGHLINE_CONFIGURATION" });
    assert.deepEqual(disk.operations, []);
  });
}
