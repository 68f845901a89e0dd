// What the documents show is run: programs as they stand, command lines as far as their words go.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { join, relative } from "node:path";
import { after, before, describe, test } from "node:test";
import { conversationRoutes } from "../src/adapters/openai/routes.ts";
import { runCli } from "./support/command-line.ts";
import { imported } from "./support/document-program.ts";
import { type Companion, companion } from "./support/server-fixture.ts";

const root = join(import.meta.dirname, "..");
const limitMs = 20_000;

interface Block {
  readonly file: string;
  readonly line: number;
  readonly language: string;
  readonly text: string;
}

function blocksOf(file: string): Block[] {
  const lines = fs.readFileSync(join(root, file), "utf8").split("\n");
  const blocks: Block[] = [];
  for (let i = 0; i < lines.length; i++) {
    const language = /^```(\w*)/.exec(lines[i] ?? "")?.[1];
    if (language === undefined) continue;
    const line = i + 1;
    const end = lines.indexOf("```", line);
    assert.ok(end > 0, `${file}:${line}: the block does not end`);
    blocks.push({ file, line, language, text: lines.slice(line, end).join("\n") });
    i = end;
  }
  return blocks;
}

const documents = fs
  .globSync(["README.md", "docs/**/*.md"], { cwd: root })
  .filter((file) => file.endsWith(".md"))
  .sort();
const blocks = documents.flatMap(blocksOf);
/** Programs that never end: each has a test of its own. */
const examples = fs.globSync("examples/**/*.mts", { cwd: root });
const exampleTexts = examples.map((file) => fs.readFileSync(join(root, file), "utf8"));
const programs = blocks.filter(({ language, text }) => {
  const isRun = !text.includes("// not run") && !exampleTexts.includes(`${text}\n`);
  return /^(ts|js)$/.test(language) && isRun;
});

for (const [index, file] of examples.entries()) {
  test(`a guide shows ${file} as it is`, () => {
    assert.equal(blocks.filter(({ text }) => `${text}\n` === exampleTexts[index]).length, 1);
  });
}

const skip = documents.includes("README.md") ? false : "there is no README.md yet";

test("README.md shows at least one program that runs", { skip }, () => {
  assert.ok(
    programs.some(({ file }) => file === "README.md"),
    'README.md has no ```ts block without "// not run"',
  );
});

describe("programs in documents", () => {
  const directory = join(root, `test/.tmp-readme-${process.pid}`);
  let served: Companion;
  let throughlineUrl: string;
  before(async () => {
    fs.mkdirSync(directory);
    served = await companion([], { features: [conversationRoutes()] });
    throughlineUrl = (await served.listen({ host: "127.0.0.1", port: 0 })).url;
  });
  after(async () => {
    await served.server.close();
    fs.rmSync(directory, { recursive: true, force: true });
  });

  for (const { file, line, language, text } of programs) {
    test(`the program at ${file}:${line} runs to its end within 20 s`, async () => {
      const path = join(directory, `${file.replaceAll(/\W/g, "-")}-${line}.${language}`);
      // What a reader finds among temporary files is removed here.
      fs.writeFileSync(path, imported(text).replaceAll('"/tmp/', `"${directory}/`));
      const child = spawn(process.execPath, [path], {
        cwd: directory,
        env: {
          ...process.env,
          TMPDIR: directory,
          THROUGHLINE_URL: throughlineUrl,
        },
        timeout: limitMs,
        killSignal: "SIGKILL",
        stdio: ["ignore", "ignore", "pipe"],
      });
      let errors = "";
      child.stderr.setEncoding("utf8").on("data", (more) => {
        errors += more;
      });
      const [code, signal] = await once(child, "close");
      assert.deepEqual([code, signal], [0, null], errors);
    });
  }
});

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
    /^(npm (ci|test|run (check|verify|bench|build|format)|install throughline)\b|node bot\.mts$)/;
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
