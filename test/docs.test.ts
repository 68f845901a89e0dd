// The pages are true of the code: generated parts, links, paths, layers, and the bytes of the samples.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, normalize } from "node:path";
import { test } from "node:test";
import { generatedFiles, generateParts, withGenerated } from "../scripts/docs.ts";
import { readConfig } from "../src/cli/settings.ts";
import { EmotionsWatch } from "../src/companion/commands/emotions-file.ts";
import { builtInEmotions } from "../src/companion/emotion/built-in-emotions.ts";
import { errorCodes } from "../src/core/errors.ts";
import { silentLogger } from "../src/core/logger.ts";
import { systemTimers } from "../src/core/timers.ts";
import { openThroughline } from "../src/index.ts";
import { temporaryDirectory } from "./support/command-line.ts";
import { everything } from "./support/everything.ts";

const read = (path: string) => readFileSync(path, "utf8");
const parts = await generateParts();
const pages = [
  "README.md",
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  ...filesIn("docs"),
].filter((path) => path.endsWith(".md") && existsSync(path));

function filesIn(directory: string): string[] {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  return entries.filter((e) => e.isFile()).map((e) => normalize(join(e.parentPath, e.name)));
}

for (const file of generatedFiles) {
  test(`the generated parts of ${file} are what scripts/docs.ts makes`, () => {
    const text = read(file);
    assert.match(text, /<!-- generated: /);
    assert.equal(text, withGenerated(text, parts), "run: npm run generate");
  });
}

test("every page is text: no NUL byte of a file that was read while it was open", () => {
  assert.deepEqual(
    pages.filter((page) => read(page).includes("\0")),
    [],
  );
});

test("every part that is generated stands in a page, once", () => {
  const marks = generatedFiles.flatMap((file) =>
    [...read(file).matchAll(/<!-- generated: ([\w-]+) -->/g)].map(([, name]) => name),
  );
  assert.deepEqual(marks.sort(), [...parts.keys()].sort());
});

/** The text of a page without its code, where brackets mean something else. */
const prose = (path: string) =>
  read(path)
    .replace(/^```[\s\S]*?^```$/gm, "")
    .replace(/`[^`]*`/g, "");

/** The anchor of a heading, as GitHub makes it. */
function anchors(path: string): readonly string[] {
  const text = read(path).replace(/^```[\s\S]*?^```$/gm, "");
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_\- ]/gu, "")
      .replaceAll(" ", "-"),
  );
}

for (const page of pages) {
  test(`every relative link of ${page} leads to a file, and to a heading if it names one`, () => {
    const wrong: string[] = [];
    for (const [, link = ""] of prose(page).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(link)) continue;
      const [path = "", anchor] = link.split("#");
      const target = path === "" ? page : normalize(join(dirname(page), path));
      if (!existsSync(target)) wrong.push(link);
      else if (anchor !== undefined && !anchors(target).includes(anchor)) wrong.push(link);
    }
    assert.deepEqual(wrong, []);
  });
}

for (const page of pages.filter((path) => path !== "README.md")) {
  test(`every path of this repository that ${page} names exists`, () => {
    const names = new Set(
      filesIn("src")
        .concat(filesIn("test"))
        .map((path) => basename(path)),
    );
    const wrong: string[] = [];
    for (const [, token = ""] of read(page).matchAll(/`([\w./*-]+)`/g)) {
      if (/^(src|test|docs|scripts|api|bench|examples)\//.test(token)) {
        if (!existsSync(token.replace(/\*.*$/, ""))) wrong.push(token);
      } else if (/^[\w-]+(\.test)?\.ts$/.test(token) && !names.has(token)) wrong.push(token);
    }
    assert.deepEqual(wrong, []);
  });
}

test("the table of folders in ARCHITECTURE.md is the one that test/tidy.test.ts enforces", () => {
  const source = /const folders[^{]*\{([\s\S]*?)\n\};/.exec(read("test/tidy.test.ts"))?.[1] ?? "";
  const enforced = [...source.matchAll(/(\w+): \[([^\]]*)\]/g)].map(
    ([, folder, imports = ""]) => `| ${folder} | ${imports.match(/\w+/g)?.join(", ") ?? ""} |`,
  );
  assert.ok(enforced.length >= 9);
  const written = read("ARCHITECTURE.md").match(/^\| \w+ \| [\w, ]*\|(?= [^|]* \|$)/gm) ?? [];
  const rows = written.filter((row) => !row.startsWith("| folder "));
  assert.deepEqual(rows.sort(), enforced.sort());
});

test("every error code has a row that says what was stored and what to do", () => {
  const [, advice = ""] = read("docs/reference/errors.md").split("## What was stored");
  const missing = Object.keys(errorCodes).filter((code) => !advice.includes(`\`${code}\``));
  assert.deepEqual(missing, []);
});

test("each route takes the body that docs/reference/http.md sends it", async () => {
  await using c = await everything();
  const [, routes = ""] = read("docs/reference/http.md").split("<!-- generated: http -->");
  const refused: string[] = [];
  let sent = 0;
  for (const part of routes.split("\n### ").slice(1)) {
    const [, path, body] = /^POST (\S+)[\s\S]*\nSend:\n\n```json\n(.*)\n/.exec(part) ?? [];
    if (path === undefined || body === undefined) continue;
    const named = path.replace("\\{name\\}", "2026-03-04T09-15-00_positive_fb_0a1b2c3d4e5f");
    const answer = await c.post(named.replaceAll(/\\\{\w+\\\}/g, "m1"), JSON.parse(body));
    if (answer.status === 400) refused.push(`${path}: ${await answer.text()}`);
    sent++;
  }
  assert.deepEqual(refused, []);
  assert.ok(sent > 20, `${sent} were sent`);
});

test("the sample log of docs/formats/log.md is a log: it opens, and holds what it says", async (t) => {
  const [, log = ""] = /```jsonl\n([\s\S]*?)```/.exec(read("docs/formats/log.md")) ?? [];
  const home = temporaryDirectory(t);
  mkdirSync(join(home, "chats"));
  writeFileSync(join(home, "chats", "local%3ame.jsonl"), log);
  await using throughline = await openThroughline({ home });
  const { messages } = await throughline.chats.messages("local:me");
  assert.deepEqual(
    messages.map(({ seq, role, content }) => [seq, role, content]),
    [
      [2, "user", "Does the moon sing?"],
      [3, "assistant", "No: there is no air to carry a song."],
    ],
  );
  assert.deepEqual(throughline.storage.repairs(), []);
  const session = await throughline.sessions.active("local:me");
  assert.equal(session?.message_count, 1);
  // It is sealed: one other byte, and it would be damage.
  await throughline.close();
  writeFileSync(join(home, "chats", "local%3ame.jsonl"), log.replace("moon", "noon"));
  await using damaged = await openThroughline({ home });
  await damaged.chats.messages("local:me");
  assert.equal(damaged.storage.repairs()[0]?.kind, "damaged_middle");
});

test("docs/formats/log.md has a line and a row for every kind of record", () => {
  const page = read("docs/formats/log.md");
  const source = /type ControlKind =([\s\S]*?);/.exec(read("src/core/chat/message.ts"))?.[1];
  const kinds = [...(source ?? "").matchAll(/"(\w+)"/g)].map(([, kind = ""]) => kind);
  assert.ok(kinds.length >= 9);
  for (const kind of kinds) {
    if (kind !== "foreign") assert.match(page, new RegExp(`^\\{"id":.*"kind":"${kind}"`, "m"));
    assert.match(page, new RegExp(`^\\| \`${kind}\` \\|`, "m"));
  }
});

test("the built-in file of docs/formats/emotions.md, saved as it stands, is the built-in configuration", (t) => {
  const [, yaml = ""] = /```yaml\n([\s\S]*?)```/.exec(read("docs/formats/emotions.md")) ?? [];
  const home = temporaryDirectory(t);
  writeFileSync(join(home, "emotions.yaml"), yaml);
  const onChange = () => undefined;
  const watch = new EmotionsWatch({ home, onChange, timers: systemTimers, logger: silentLogger });
  assert.deepEqual([watch.configuration, watch.problems], [builtInEmotions, []]);
  watch.close();
});

test("the prices in docs/formats/home.md are a configuration that can be read", (t) => {
  const sample = /```json\n(\{"prices".*)\n```/.exec(read("docs/formats/home.md"))?.[1];
  assert.ok(sample);
  const home = temporaryDirectory(t);
  writeFileSync(join(home, "throughline.config.json"), sample);
  assert.equal(readConfig(home).prices?.["ollama/qwen3"]?.outputPerMillionUsd, 0);
});

test("docs/formats/companion.md has a row for every field of the document, and of ours in it", () => {
  const page = read("docs/formats/companion.md");
  const [, sample = ""] = /```json\n([\s\S]*?)```/.exec(page) ?? [];
  const document = JSON.parse(sample) as { readonly throughline: object };
  const rows = [...page.matchAll(/^\| (`[^|]+`) \|/gm)].map(([, names = ""]) => names).join();
  const fields = [...Object.keys(document), ...Object.keys(document.throughline)];
  assert.ok(fields.length > 15);
  assert.deepEqual(
    fields.filter((name) => !rows.includes(`\`${name}\``)),
    [],
  );
});

test("each picture of the docs is shown", () => {
  const shown = pages.map(read).join();
  assert.deepEqual(
    readdirSync("docs/images").filter((name) => !shown.includes(`images/${name})`)),
    [],
  );
});
