// What neither the compiler nor the linter can say: who may import whom, and what we write instead.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { test } from "node:test";

/** ARCHITECTURE.md draws this. A layer may import itself and what stands behind it. */
const layers: Record<string, readonly string[]> = {
  base: [],
  contracts: ["base"],
  drivers: ["contracts", "base"],
  memories: ["contracts", "base"],
  runtime: ["memories", "contracts", "base"],
  front: ["runtime", "memories", "drivers", "contracts", "base"],
  interchange: ["runtime", "memories", "contracts", "base"],
  testing: ["runtime", "memories", "drivers", "contracts", "base"],
  adapters: ["memories", "runtime", "contracts", "base"],
  server: ["front", "runtime", "memories", "contracts", "base"],
  cli: [
    "server",
    "interchange",
    "front",
    "runtime",
    "memories",
    "drivers",
    "testing",
    "contracts",
    "base",
  ],
};

function layerOf(path: string): string {
  if (/^src\/(errors|clock|json|ids|in-lanes|keyed-lanes|logger|options|timers)\.ts$/.test(path))
    return "base";
  if (/^src\/(index|throughline|moments)\.ts$/.test(path)) return "front";
  if (/^src\/storage\/[^/]+\.ts$/.test(path)) return "contracts";
  if (/^src\/targets\/(target\.ts$|package\/)/.test(path)) return "contracts";
  if (/^src\/(storage|targets)\//.test(path)) return "drivers";
  return path.split("/")[1] ?? "";
}

const bans: readonly (readonly [pattern: RegExp, instead: string, except: RegExp])[] = [
  [/\bDate\.now\(|new Date\(\)/, "the Clock that was passed in", /^src\/clock\.ts$/],
  [
    /"node:fs/,
    "the Disk that was passed in",
    /^src\/(clock\.ts$|runtime\/responders\/listener-owner\.ts$|storage\/files\/(disk|lease|lease-holder|home-guard|sqlite-\w+)\.ts$|cli\/|server\/)/,
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
  [/\bconsole\./, "the Logger that was passed in", /^src\/cli\//],
  [/\bFIXME\b|\bTODO\b|\bXXX\b/, "an issue", /^$/],
  [/jsonb\b/, "text: jsonb loses what was said", /^$/],
];

const sources = readdirSync("src", { recursive: true, encoding: "utf8" })
  .map((name) => `src/${name}`)
  .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"));

test("there are sources to look at", () => {
  assert.ok(sources.length > 50);
});

test("every module imports only what its layer may import", () => {
  const wrong: string[] = [];
  for (const path of sources) {
    const layer = layerOf(path);
    const allowed = layers[layer];
    assert.ok(allowed, `${path} is in no layer`);
    for (const [, target = ""] of readFileSync(path, "utf8").matchAll(
      /(?:from|import)\(? ?"(\.[^"]+)"/g,
    )) {
      const other = layerOf(normalize(join(dirname(path), target)));
      if (other !== layer && !allowed.includes(other))
        wrong.push(`${path} (${layer}) -> ${target} (${other})`);
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
