import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { exported, lines } from "../../../test/support/feedback-export-files.ts";
import { type PackageShape, samplePackage } from "../../../test/support/feedback-packages.ts";
import { feedbackExportFormats } from "./options.ts";

describe("hostile text", () => {
  const texts: readonly (readonly [says: string, text: string])[] = [
    ["lone surrogates", "\ud83d high \ude00 low \ud800\ud800"],
    ["an emoji that is split over two messages", "\ud83d"],
    ["line separators", "a\u2028b\u2029c\r\nd\u0085e"],
    ["NUL and other controls", "a\0b\u0001\u001b[31m\u007f\u009b2J"],
    ["right-to-left text", "مرحبا \u202eevil\u202c שלום"],
    ["quotes, brackets and a fence", '"}]}\n```\n---\n<script>&amp;</script>'],
    ["a byte order mark", "\ufefftext"],
    ["1 MB", "0123456789abcdef".repeat(65_536)],
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
