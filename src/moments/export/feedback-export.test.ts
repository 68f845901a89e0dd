import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { columns } from "../../../test/support/columns.ts";
import { exported, lines } from "../../../test/support/feedback-export-files.ts";
import {
  filesUnder,
  firstTrigger,
  type Line,
  type PackageShape,
  samplePackage,
} from "../../../test/support/feedback-packages.ts";
import { realDisk } from "../../core/storage/disk/disk.ts";
import type { Manifest } from "../package/record.ts";
import {
  type ExportFilters,
  type FeedbackExportOptions,
  feedbackExportFormats,
  matches,
} from "./selection.ts";

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
  samplePackage(2, { reason: "retracted" }),
];

const golden: readonly (readonly [folder: string, options: FeedbackExportOptions])[] = [
  ["kto", { format: "kto" }],
  ["dpo", { format: "dpo" }],
  ["imagefolder", { format: "imagefolder" }],
  ["jsonl", { format: "jsonl" }],
];
for (const [folder, options] of golden) {
  test(`an export with ${JSON.stringify(options)} is byte for byte the one that is kept, in whatever order packages are listed`, async () => {
    const kept = await filesUnder(realDisk, join("test/golden/feedback-export", folder));
    const { files } = await exported(three, options);
    assert.ok(kept !== undefined);
    assert.deepEqual([...files.keys()], [...kept.keys()]);
    for (const [path, bytes] of kept) assert.equal(String(files.get(path)), String(bytes), path);
    assert.deepEqual((await exported(three.toReversed(), options)).files, files);
  });
}

test("a card of imagefolder without a picture names no pattern that would match nothing", async () => {
  const { files } = await exported([samplePackage(0)], { format: "imagefolder" });
  assert.match(String(files.get("README.md")), /path: \["metadata\.jsonl"\]/);
  assert.doesNotMatch(String(files.get("README.md")), /drop_labels/);
});

describe("an export without rows", () => {
  for (const format of feedbackExportFormats) {
    test(`of ${format} has no data file, and a card that names none`, async () => {
      const { files, report } = await exported([], { format });
      assert.deepEqual([...files.keys()], ["README.md", "export-report.json"]);
      assert.doesNotMatch(String(files.get("README.md")), /configs/);
      assert.equal(report.rows.total, 0);
    });
  }
});

const corrected = (correction: Manifest["correction"]): PackageShape => ({
  manifest: { sentiment: "negative", correction },
});
const [, ...answer] = samplePackage(0)
  .messages.slice(0, 3)
  .map(({ text }) => text);
const answerOfSample = answer.join("\n\n");

describe("the report", () => {
  const export_ = { ...samplePackage(0).manifest.consent, export: false };
  const rows: readonly (readonly [reason: string, shape: PackageShape, format?: "dpo"])[] = [
    ["unverified", { reason: "unverified" }],
    ["newer", { reason: "newer" }],
    ["retracted", { reason: "retracted" }],
    ["superseded", { reason: "superseded" }],
    ["no_consent", { manifest: { consent: export_ } }],
    ["no_target", { target: null }],
    ["synthetic_prompt", { lines: [["ASSISTANT", "Hello!"]], target: [0, 0] }],
    ["no_correction", {}, "dpo"],
    ["no_correction", corrected({ text: "do not shout", kind: "note" }), "dpo"],
    ["no_correction", corrected({ text: " \n", kind: "replacement" }), "dpo"],
    ["no_correction", corrected({ text: answerOfSample, kind: "replacement" }), "dpo"],
  ];
  for (const [reason, shape, format = "kto"] of rows) {
    test(`names a package that was left out as ${reason}${JSON.stringify(shape.manifest?.correction ?? "")}`, async () => {
      const one = samplePackage(0, shape);
      const { report, reads } = await exported([one], { format });
      assert.deepEqual(report.skipped, [{ name: one.name, reason }]);
      assert.deepEqual([report.packages.listed, report.packages.skipped], [1, 1]);
      // What must not be exported for what the listing says is not even read.
      if (shape.reason !== undefined) assert.deepEqual(reads, []);
    });
  }

  const answered = (text: string, id: string) => {
    const turn = { turn_id: "t1" };
    const lines: Line[] = [["USER", "Hi", turn]];
    return { lines: [...lines, ["ASSISTANT", text, { ...turn, id }]], target: [1, 1] } as const;
  };
  const shape = answered("Hello", "t1:answer");

  test("names the earlier of two judgements of one turn, also where the later is filtered out", async () => {
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

  test("names the earlier of two judgements, at one instant the one whose name sorts first, and none of two chats", async () => {
    const { timestamp } = samplePackage(0).manifest;
    for (const [chat_id, after, skipped] of [
      ["local:me", 0, [0]],
      ["local:me", -0.001, [1]],
      ["another", 0, []],
    ] as const) {
      const later = samplePackage(1, { ...shape, manifest: { chat_id } });
      const manifest = { ...later.manifest, timestamp: timestamp + after };
      const two = [samplePackage(0, shape), { ...later, manifest }];
      const { report } = await exported(two, { format: "kto" });
      const names = skipped.map((index) => two[index]?.manifest.name);
      assert.deepEqual(
        columns(report.skipped, "name", "reason"),
        names.map((name) => [name, "later_judgement"]),
      );
    }
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
    const manifest = { sentiment: "negative" } as const;
    const two = [samplePackage(0, { ...answered("Go away", "t1:answer"), manifest })];
    two.push(samplePackage(1, answered("Hello", "t1:answer:r1")));
    const { report } = await exported(two, { format: "kto" });
    assert.deepEqual([report.rows.total, report.skipped], [2, []]);
  });

  test("names the earlier of two judgements also where the later is damaged", async () => {
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
});

test("a package is compared whole where it gives a row, and its words alone are read where it gives none", async () => {
  const one = samplePackage(0, { frames: [-2_000, -1_000], samples: 16 });
  for (const [, options] of golden) {
    const { reads, verified } = await exported([one], options);
    assert.deepEqual(verified, options.format === "dpo" ? [] : [one.name]);
    const media = reads.filter((path) => /(jpg|wav)$/.test(path)).length;
    assert.equal(media, options.format === "imagefolder" ? 2 : 0);
  }
});

test("pictures and sound without consent are in no row", async () => {
  const { consent } = samplePackage(0).manifest;
  const manifest = { consent: { ...consent, frames: false, audio: false } };
  const one = samplePackage(0, { frames: [-1_000], samples: 320, manifest });
  const { report, reads } = await exported([one], { format: "imagefolder" });
  assert.deepEqual([report.rows.total, report.rows.frames], [1, 0]);
  assert.doesNotMatch(reads.join(), /jpg|wav/);
});

test("pictures of the camera have their places at the last user's message, text as null", async () => {
  const said = ["Hi", "Hello", "Look", "A cat"].map((text, n): Line => {
    return [n % 2 === 0 ? "USER" : "ASSISTANT", text];
  });
  const shape: PackageShape = { lines: said, target: [3, 3], manifest: { latched: {} } };
  const one = samplePackage(0, { ...shape, frames: [-2_000, -1_000] });
  const { files } = await exported([one], { format: "imagefolder" });
  const [row] = lines(files.get("metadata.jsonl"));
  const image = { type: "image", text: null };
  const text = (text: string) => ({ type: "text", text });
  assert.deepEqual(row?.["prompt"], [
    { role: "user", content: [text("Hi")] },
    { role: "assistant", content: [text("Hello")] },
    { role: "user", content: [image, image, text("Look")] },
  ]);
});

describe("a filter", () => {
  const atMs = firstTrigger * 1_000;
  const rows: readonly (readonly [filters: ExportFilters, manifest: Partial<Manifest>, boolean])[] =
    [
      [{}, {}, true],
      [{ sentiment: "positive" }, {}, true],
      [{ sentiment: "negative" }, {}, false],
      [{ since: atMs }, {}, true],
      [{ since: atMs + 1 }, {}, false],
      [{ until: atMs + 1 }, {}, true],
      [{ until: atMs }, {}, false],
      [{ chat: "local:me" }, {}, true],
      [{ chat: "local:me" }, { chat_id: null }, false],
      [{ person: "ADA" }, {}, true],
      [{ person: "Ada" }, { people: [] }, false],
      [{ source: "skill" }, {}, true],
      [{ source: "http" }, {}, false],
      [{ minScore: 0.5 }, { score: 0.5 }, true],
      [{ minScore: 0.5 }, { score: -0.7 }, true],
      [{ minScore: 0.5 }, { score: 0.4 }, false],
      [{ sentiment: "positive", source: "http" }, {}, false],
    ];
  test("takes the moments for which each that is given holds", () => {
    for (const [filters, change, passes] of rows) {
      const { manifest } = samplePackage(0, { manifest: change });
      assert.equal(matches(manifest, filters), passes, JSON.stringify(filters));
    }
  });
});

describe("hostile text", () => {
  const texts: readonly (readonly [says: string, text: string])[] = [
    ["lone surrogates", "\ud83d high \ude00 low \ud800\ud800"],
    ["an emoji that is split over two messages", "\ud83d"],
    ["line separators", "a\u2028b\u2029c\r\nd\u0085e"],
    ["NUL and other controls", "a\0b\u0001\u001b[31m\u007f\u009b2J"],
    ["right-to-left text", "مرحبا \u202eevil\u202c שלום"],
    ["quotes, brackets and a fence", '"}]}\n```\n---\n<script>&amp;</script>'],
    ["a byte order mark", "\ufefftext"],
    ["64 KB", "0123456789abcdef".repeat(4_096)],
  ];
  for (const format of feedbackExportFormats) {
    for (const [says, text] of texts) {
      test(`${says} comes out of ${format} as it is, but well formed`, async () => {
        const shape: PackageShape = {
          lines: [
            ["USER", text],
            ["ASSISTANT", `answer ${text}`],
            ["USER", text],
          ],
          target: [1, 1],
          manifest: {
            sentiment: "negative",
            what: text,
            trigger: text,
            latched: { system_prompt: `prompt ${text}`, [text]: [text] },
            people: [text],
            correction: { text, kind: "replacement" },
            consent: { ...samplePackage(0).manifest.consent, wording: text },
          },
        };
        const { files, report } = await exported([samplePackage(0, shape)], { format });
        assert.equal(report.rows.total, 1);
        const rows = rowsOf(files, format);
        const whole = JSON.stringify(rows);
        assert.doesNotMatch(whole, /\\ud[89a-f]/i);
        assert.ok(whole.includes(JSON.stringify(`answer ${text.toWellFormed()}`).slice(1, -1)));
        for (const bytes of files.values()) {
          new TextDecoder("utf-8", { fatal: true }).decode(bytes);
        }
        const yaml = String(files.get("README.md")).split("\n");
        assert.equal(yaml.indexOf("---", 1), yaml.lastIndexOf("---"));
      });
    }
  }
});

/** The rows of an export, whatever its format. */
function rowsOf(files: ReadonlyMap<string, Buffer>, format: string) {
  const name = { imagefolder: "metadata.jsonl", jsonl: "packages.jsonl" }[format] ?? "train.jsonl";
  return lines(files.get(name));
}
