// What neither the compiler nor the linter can say of the page: which folder may import which, and what
// we write instead.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { test } from "node:test";

/** Beside itself. Files of no folder, such as `app.tsx`, put the folders together. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  api: [],
  ui: ["api"],
  shell: ["api", "ui"],
  chats: ["api", "ui", "shell"],
  companion: ["api", "ui", "shell", "chats"],
  moments: ["api", "ui", "shell", "chats"],
};

const bans: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\.\.\.\{ /, "one property a line"],
  [/\.\.\.\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\? ?\{/, "an optional property that may be undefined"],
  [
    /\b(whoever|anew|nobody|meanwhile)\b|\bto be had\b|\bof which nobody\b|\bcame of it\b|\bgoes on\b/i,
    "plain English",
  ],
];

const sources = readdirSync("dashboard/src", { recursive: true, encoding: "utf8" })
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => ({ name, text: readFileSync(join("dashboard/src", name), "utf8") }));

/** The only file that takes something from the sources of the server, and only their types. */
const wire = "api/openapi-types.ts";

/** Of `chats/list/excerpt.ts` it is `chats`; of a file in no folder it is "". */
function folderOf(name: string): string {
  return name.includes("/") ? (name.split("/")[0] ?? "") : "";
}

test("every file of the page imports only what its folder may import", () => {
  assert.ok(sources.length > 100);
  const wrong: string[] = [];
  for (const { name, text } of sources) {
    const folder = folderOf(name);
    if (folder === "") continue;
    const allowed = mayImport[folder];
    assert.ok(allowed, `${name} is in no folder that is known`);
    const own =
      name === wire ? text.replaceAll(/^import type .+ from "(?:\.\.\/)+src\/.+$/gm, "") : text;
    for (const [, target = ""] of own.matchAll(/(?:from|import)\(? ?"(\.[^"]+)"/g)) {
      const other = folderOf(normalize(join(dirname(name), target)));
      if (other !== folder && !allowed.includes(other)) wrong.push(`${name} -> ${target}`);
    }
  }
  assert.deepEqual(wrong, []);
});

for (const [pattern, instead] of bans) {
  test(`no file of the page has ${pattern.source}; it has ${instead}`, () => {
    const wrong = sources.filter(({ text }) => pattern.test(text)).map(({ name }) => name);
    assert.deepEqual(wrong, []);
  });
}
