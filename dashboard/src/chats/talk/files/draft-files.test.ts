import assert from "node:assert/strict";
import { test } from "node:test";
import { bodyOf } from "./draft-files.ts";

const model = { provider: "ollama", model: "qwen3" };

test("a message names the chosen model, as JSON and in a form with its files", () => {
  assert.deepEqual(bodyOf({ content: "Hi" }), { content: "Hi" });
  assert.deepEqual(bodyOf({ content: "Hi", files: [] }, model), { content: "Hi", ...model });
  const file = new File(["x"], "a.txt", { type: "text/plain" });
  const entry = { key: "k", name: "a.txt", type: "text/plain", size: 1, file };
  const form = bodyOf({ content: "Hi", files: [entry] }, model);
  assert.ok(form instanceof FormData);
  const fields = [...form].map(([name, value]) => [
    name,
    typeof value === "string" ? value : "file",
  ]);
  assert.deepEqual(fields, [
    ["content", "Hi"],
    ["provider", "ollama"],
    ["model", "qwen3"],
    ["file", "file"],
  ]);
});
