// What the documents show: links, and command lines as far as their words go. Programs: test/full/documents.test.ts.
import assert from "node:assert/strict";
import fs from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import { runCli } from "./support/command-line.ts";
import { blocks, documents, examples } from "./support/document-blocks.ts";

const root = join(import.meta.dirname, "..");

for (const [file, text] of examples) {
  test(`a guide shows ${file} as it is`, () => {
    assert.equal(blocks.filter((block) => `${block.text}\n` === text).length, 1);
  });
}

interface CommandLine {
  readonly place: string;
  readonly words: readonly string[];
}

/** The commands of every `sh` block: without comments and variables, continued lines in one. */
function commandLines(): CommandLine[] {
  return blocks
    .filter(({ language }) => language === "sh")
    .flatMap(({ file, line, text }) =>
      text
        .replaceAll("\\\n", " ")
        .split(/\n|&&/)
        .map((command) => command.replace(/(^|\s)#\s.*$/, "").trim())
        .filter((command) => command !== "")
        .map((command) => ({ place: `${file}:${line}: ${command}`, words: command.split(/\s+/) }))
        .map(({ place, words }) => ({ place, words: words.slice(variables(words)) })),
    );
}

function variables(words: readonly string[]): number {
  const first = words.findIndex((word) => !/^[A-Z_]+=/.test(word));
  return first < 0 ? words.length : first;
}

/** What our command line is given, whichever way it is called; `undefined`: it is not called. */
function ownArguments(words: readonly string[]): readonly string[] | undefined {
  const said = words.join(" ");
  if (words[0] === "throughline") return words.slice(1);
  if (words[0] === "npx" && words[1] === "throughline") return words.slice(2);
  if (said.startsWith("npm run throughline -- ")) return words.slice(4);
  if (said === "npm start") return ["serve"];
  if (said.startsWith("npm start -- ")) return ["serve", ...words.slice(3)];
  return undefined;
}

const lines = commandLines();
const home = join(import.meta.dirname, "no-home");

for (const { place, words } of lines) {
  const args = ownArguments(words);
  if (args === undefined) continue;
  test(`${place}: has commands and options that are there`, async () => {
    const known: string[] = [];
    for (const word of args) {
      if (!/^[a-z]+$/.test(word)) break;
      const { code, out } = await runCli([...known, "--help"], { home });
      assert.equal(code, 0);
      const isCommand = new RegExp(`^  ${word}\\b`, "m").test(out);
      if (!isCommand && known.length > 0) break; // an argument
      assert.ok(isCommand, `throughline has no ${word}`);
      known.push(word);
    }
    const { out } = await runCli([...known, "--help"], { home });
    for (const option of args.filter((word) => word.startsWith("-"))) {
      const isThere = new RegExp(`(^|\\s)${option.split("=", 1)[0]}\\b`, "m").test(out);
      assert.ok(isThere, `throughline ${known.join(" ")} has no ${option}`);
    }
  });
}

for (const { place, words } of lines) {
  if (words[0] !== "curl") continue;
  test(`${place}: asks a route that is there`, () => {
    const { paths } = JSON.parse(fs.readFileSync(join(root, "api/openapi.json"), "utf8")) as {
      readonly paths: Record<string, unknown>;
    };
    const address = words.find((word) => word.includes("http://")) ?? assert.fail("no address");
    const { pathname } = new URL(address.replaceAll(/['"]/g, ""));
    const isRoute = Object.keys(paths).some((path) =>
      new RegExp(`^${path.replaceAll(/\{[^}]+\}/g, "[^/]+")}$`).test(pathname),
    );
    assert.ok(isRoute, pathname);
  });
}

test("every shell line of the documents is one that this test knows", () => {
  const npm =
    /^(npm (ci|test|init -y|pack|run (check|verify|bench|build|format)|install throughline)\b|node \w+\.mts$)/;
  const unknown = lines.filter(({ words }) => {
    if (ownArguments(words) !== undefined || words[0] === "curl") return false;
    return !npm.test(words.join(" "));
  });
  assert.deepEqual(
    unknown.map(({ place }) => place),
    [],
  );
});

test("every link from a document to a file of the project leads to one", () => {
  const broken: string[] = [];
  for (const file of documents) {
    const text = fs.readFileSync(join(root, file), "utf8");
    for (const [, target = ""] of text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      const path = join(root, file, "..", target);
      if (!fs.existsSync(path)) broken.push(`${file} -> ${relative(root, path)}`);
    }
  }
  assert.deepEqual(broken, []);
});
