// What neither the compiler nor the linter can say: who may import whom, and what we write instead.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { test } from "node:test";

/** Who may import whom: ARCHITECTURE.md draws it. A folder may import itself and what is listed. */
const folders: Record<string, readonly string[]> = {
  core: [],
  server: ["core"],
  cli: ["core"],
  companion: ["core"],
  moments: ["core"],
  postgres: ["core"],
  interchange: ["core"],
  adapters: ["core"],
  testing: ["core"],
  app: [
    "core",
    "server",
    "cli",
    "companion",
    "moments",
    "postgres",
    "interchange",
    "adapters",
    "testing",
  ],
};

/** What parts of a feature may import beside: its routes the server, its commands and checks the cli. */
const parts: readonly (readonly [part: RegExp, folder: string])[] = [
  [/^src\/(adapters\/[\w-]+|\w+)\/routes[./]/, "server"],
  [/^src\/(adapters\/[\w-]+|\w+)\/(commands|checks)[./]/, "cli"],
];

/** Imports against the table that are still here. A line goes when its import goes; none is added. */
const notYet: readonly string[] = [];

function folderOf(path: string): string {
  return path === "src/index.ts" ? "core" : (path.split("/")[1] ?? "");
}

/** Each adapter is a feature of its own. */
function featureOf(path: string): string | undefined {
  const folder = folderOf(path);
  return folder === "adapters" ? path.split("/")[2] : folder;
}

function mayImport(path: string, other: string): boolean {
  const [own, folder] = [folderOf(path), folderOf(other)];
  const isNear =
    own === folder ? featureOf(path) === featureOf(other) : folders[own]?.includes(folder);
  return isNear || parts.some(([part, allowed]) => part.test(path) && folder === allowed);
}

const bans: readonly (readonly [pattern: RegExp, instead: string, except: RegExp])[] = [
  [/\bDate\.now\(|new Date\(\)/, "the Clock that was passed in", /^src\/core\/clock\.ts$/],
  [
    /"node:fs/,
    "the Disk that was passed in",
    /^src\/(core\/(clock|ids)\.ts$|core\/storage\/disk\/disk\.ts$|core\/storage\/files\/(lease|lease-holder|home-guard|index(-\w+)?)\.ts$|app\/|cli\/|server\/|\w+\/(commands|checks|routes)\/)/,
  ],
  [/\bObject\.assign\(/, "a spread, which cannot set a prototype", /^$/],
  [/catch (\(\w+\) )?\{\s*\}/, "a handler, or a comment that says why nothing is right", /^$/],
  [/\bMath\.random\(|randomUUID\(/, "the NewId that was passed in", /^$/],
  [/\bprocess\.env\b/, "an option; src/cli/env.ts reads the environment", /^src\/cli\/env\.ts$/],
  [
    /^\s*(decodeURI\w*|JSON\.parse|BigInt|new (URL|RegExp|Intl\.\w+|TextDecoder))\(.*\);$/m,
    "a use of the result: bundlers drop a call that is made only for what it throws",
    /^$/,
  ],
  [/\bconsole\./, "the Logger that was passed in", /^src\/(app|cli)\//],
  [/\bFIXME\b|\bTODO\b|\bXXX\b/, "an issue", /^$/],
  [/jsonb\b/, "text: jsonb loses what was said", /^$/],
  [/\.\.\.\{\s/, "one property a line: a literal is not spread", /^$/],
];

const sources = readdirSync("src", { recursive: true, encoding: "utf8" })
  .map((name) => `src/${name}`)
  .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"));

test("there are sources to look at", () => {
  assert.ok(sources.length > 50);
});

test("the documentation of an option states the default that it has", () => {
  let count = 0;
  for (const path of sources) {
    const text = readFileSync(path, "utf8");
    const stated = new Map(
      Array.from(
        text.matchAll(/@default (.+?)\s*\*\/\s*readonly (\w+)\?/g),
        ([, value, name]) => [name, value] as const,
      ),
    );
    for (const [, name, value] of text.matchAll(
      /^ {2}(\w+): byDefault\((\d[\d_.]*|"[^"]*"|true|false|null)[,)]/gm,
    )) {
      assert.equal(stated.get(name), value, `${path}: ${name}`);
      count += 1;
    }
  }
  assert.ok(count > 40, `${count} defaults`);
});

test("every module imports only what its folder may import", () => {
  const wrong: string[] = [];
  for (const path of sources) {
    assert.ok(folders[folderOf(path)], `${path} is in no folder of the table`);
    for (const [, target = ""] of readFileSync(path, "utf8").matchAll(
      /(?:from|import)\(? ?"(\.[^"]+)"/g,
    )) {
      const other = normalize(join(dirname(path), target));
      if (!mayImport(path, other)) wrong.push(`${path} -> ${other}`);
    }
  }
  assert.deepEqual(wrong.sort(), [...notYet].sort());
});

test("a test in core, server or cli imports no feature", () => {
  const wrong: string[] = [];
  for (const path of readdirSync("src", { recursive: true, encoding: "utf8" })) {
    if (!/^(core|server|cli)\/.*\.test\.ts$/.test(path)) continue;
    for (const [, target = ""] of readFileSync(`src/${path}`, "utf8").matchAll(
      /(?:from|import)\(? ?"(\.[^"]+)"/g,
    )) {
      const other = normalize(join("src", dirname(path), target));
      const isFeature = /^src\/(companion|moments|postgres|interchange|adapters)\//.test(other);
      if (isFeature) wrong.push(`${path} -> ${other}`);
    }
  }
  assert.deepEqual(wrong, []);
});

for (const [pattern, instead, except] of bans) {
  test(`no source has ${pattern.source}; it has ${instead}`, () => {
    const wrong = sources.filter((path) => {
      if (except.test(path)) return false;
      const text = readFileSync(path, "utf8");
      // Comments may name what code must not use; a catch may hold a comment alone.
      const code = /catch/.test(pattern.source) ? text : withoutComments(text);
      return pattern.test(code);
    });
    assert.deepEqual(wrong, []);
  });
}

/** Words that hide who acts or when: name the caller, say "again", "no process", "since then". */
const unclear =
  /\b(whoever|anew|nobody|meanwhile)\b|\bto be had\b|\bof which (nobody|nothing)\b|\bcame of it\b/i;

test("no source, comments included, has a word that plain English does without", () => {
  assert.deepEqual(
    sources.filter((path) => unclear.test(readFileSync(path, "utf8"))),
    [],
  );
});

function withoutComments(text: string): string {
  return text.replace(/^\s*(\/\/|\*|\/\*\*).*$/gm, "");
}

test("the lock file holds no address", () => {
  const lock = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
    packages: Record<string, { resolved?: string }>;
  };
  const addresses = Object.values(lock.packages).filter(({ resolved }) =>
    resolved?.includes("://"),
  );
  assert.deepEqual(addresses, []);
});

test("npm scripts run on the Node that the project pins", () => {
  assert.ok(Number(process.versions.node.split(".", 1)[0]) >= 24, process.versions.node);
});

/** The last commit before subjects had a length. */
const unchecked = "7ecb25022360f94488c7ec1640e8431f143ff587";

test("the subject of a commit has at most 72 characters", () => {
  const log = (...range: string[]) => spawnSync("git", ["log", "--format=%s", ...range]);
  const sinceThen = log(`${unchecked}..HEAD`);
  // A shallow clone has the newest commit alone; a package has none.
  const { stdout } = sinceThen.status === 0 ? sinceThen : log("-1");
  const subjects = stdout.toString().split("\n");
  assert.deepEqual(
    subjects.filter((subject) => subject.length > 72),
    [],
  );
});
