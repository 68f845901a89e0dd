// The product without one of its features, in a copy of what it is built from: the folder of the feature is
// deleted, its file, its block and its lines in src/app. All adapters go at once: each is a feature of its own, and one
// copy shows it of all. Tests of a feature and of the core import no other feature (test/tidy.test.ts), so they cannot
// notice that one is gone: they are neither compiled nor run again.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Collected } from "../support/command-line.ts";

const root = join(import.meta.dirname, "../..");

/** What a feature adds, by which it is known to be gone. */
interface Additions {
  readonly commands?: readonly string[];
  readonly routes?: RegExp;
  /** Of `GET /api/events`. */
  readonly events?: readonly string[];
}

const features: Readonly<Record<string, Additions>> = {
  adapters: { commands: ["mcp"] },
  companion: {
    routes: /^\/api\/(session|restart|inject|emotions|mood|person\b|facts|sleep|touch)/,
    events: ["emotions", "inject", "person", "sleep", "restart"],
  },
  interchange: { commands: ["import", "export"], routes: /^\/api\/export$/ },
  moments: {
    commands: ["feedback"],
    routes: /^\/api\/(media|frames|audio|feedback|chats\/[^/]+\/reactions$)/,
    events: ["buffers", "feedback"],
  },
  postgres: {},
};

for (const [feature, added] of Object.entries(features)) {
  test(`without ${feature} the rest builds and serves`, async (t) => {
    const copy = copyOfRepository(t);
    const lines = removeFeature(copy, feature);
    t.diagnostic(`deleted in src/app beside its own file: ${lines.join("; ")}`);
    // What only its block imported of the core is there for nothing now, which is no fault of the rest.
    const checked = ["--emitDeclarationOnly", "false", "--noEmit", "--noUnusedLocals", "false"];
    run(copy, "node_modules/.bin/tsc", ["-p", "tsconfig.build.json", ...checked]);
    run(copy, process.execPath, ["scripts/build-code.ts"]);
    await assertServes(copy, added);
    const help = run(copy, process.execPath, ["dist/app/main.js", "--help"]);
    assert.match(help, /^ {2}serve /m);
    for (const name of added.commands ?? [])
      assert.doesNotMatch(help, new RegExp(`^ {2}${name} `, "m"));
  });
}

function copyOfRepository(t: TestContext): string {
  const copy = fs.mkdtempSync(join(tmpdir(), "throughline-without-"));
  t.after(() => fs.rmSync(copy, { recursive: true, force: true, maxRetries: 5 }));
  for (const name of ["src", "scripts", "LICENSE", "package.json", "package-lock.json"]) {
    const filter = (path: string) => !/\.test\.ts$/.test(path);
    fs.cpSync(join(root, name), join(copy, name), { recursive: true, filter });
  }
  for (const path of fs.globSync("tsconfig*.json", { cwd: root }))
    fs.copyFileSync(join(root, path), join(copy, path));
  fs.symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  return copy;
}

/** @returns the lines that were deleted in src/app. */
function removeFeature(copy: string, feature: string): readonly string[] {
  const parts = feature === "adapters" ? fs.readdirSync(join(copy, "src/adapters")) : [feature];
  fs.rmSync(join(copy, "src", feature), { recursive: true });
  for (const part of parts) fs.rmSync(join(copy, `src/app/${part}.ts`), { force: true });
  const names = [`"../${feature}/`, `"../../${feature}/`, ...parts.map((part) => `"./${part}.ts"`)];
  const block = new RegExp(`^const (?:${parts.join("|")}): Feature = \\{\n.*?^\\};\n`, "gms");
  const deleted: string[] = [];
  for (const path of fs.globSync("src/app/**/*.ts", { cwd: copy })) {
    const text = fs.readFileSync(join(copy, path), "utf8");
    const lines = text.replace(block, "").split("\n");
    const isOfFeature = (line: string) =>
      names.some((name) => line.includes(name)) ||
      (path === "src/app/features.ts" && parts.some((part) => line.trim() === `${part},`));
    const rest = lines.filter((line) => !isOfFeature(line)).join("\n");
    if (rest === text) continue;
    deleted.push(...lines.filter(isOfFeature).map((line) => line.trim()));
    fs.writeFileSync(join(copy, path), rest);
  }
  removeExports(copy, feature);
  return deleted;
}

/** The entry points of the package that lie in the folder. */
function removeExports(copy: string, feature: string): void {
  const path = join(copy, "package.json");
  const manifest = JSON.parse(fs.readFileSync(path, "utf8")) as {
    exports: Record<string, { readonly default?: string }>;
  };
  const isLeft = ([, { default: file }]: [string, { readonly default?: string }]) =>
    !file?.startsWith(`./dist/${feature}/`);
  manifest.exports = Object.fromEntries(Object.entries(manifest.exports).filter(isLeft));
  fs.writeFileSync(path, JSON.stringify(manifest, null, 2));
}

/** Runs it in the copy. @returns what it printed. @throws with that, when it fails. */
function run(copy: string, program: string, args: readonly string[]): string {
  const { NODE_TEST_CONTEXT, THROUGHLINE_FULL, THROUGHLINE_BUILT, ...env } = process.env;
  const options = { cwd: copy, env, encoding: "utf8", maxBuffer: 1e8 } as const;
  const { status, stdout, stderr } = spawnSync(program, args, options);
  assert.equal(status, 0, `${program} ${args[0]} failed\n${stdout}\n${stderr}`);
  return stdout;
}

interface Description {
  readonly paths: Readonly<Record<string, object>>;
  readonly components: {
    readonly schemas: {
      readonly ServerEvents: { readonly properties: Readonly<Record<string, object>> };
    };
  };
}

/** Starts the program, says something to it, and compares its routes and events with those of the whole. */
async function assertServes(copy: string, added: Additions): Promise<void> {
  const args = ["dist/app/main.js", "serve", "--home", "home", "--port", "0", "--model", "offline"];
  const env = { PATH: "", HOME: copy, LOG_LEVEL: "warn" };
  const child = spawn(process.execPath, args, { cwd: copy, env });
  const [out, errors] = [new Collected(), new Collected()];
  child.stdout.pipe(out);
  child.stderr.pipe(errors);
  const ended = once(child, "close");
  try {
    await Promise.race([out.has("\n"), ended.then(() => assert.fail(errors.text))]);
    const url = /http:\/\/[^\s/]+/.exec(out.text)?.[0] ?? assert.fail(out.text);
    await assertAnswers(url);
    await assertDescribes(url, added);
  } finally {
    child.kill("SIGTERM");
  }
  assert.deepEqual([await ended, errors.text], [[0, null], ""]);
}

const headers = { "content-type": "application/json" };

async function assertAnswers(url: string): Promise<void> {
  const health = (await (await fetch(`${url}/healthz`)).json()) as { readonly status: string };
  assert.equal(health.status, "ok");
  const body = JSON.stringify({ content: "Hello" });
  const said = await fetch(`${url}/api/chats/a/messages`, { method: "POST", headers, body });
  const { outcome, assistant } = (await said.json()) as {
    readonly outcome: string;
    readonly assistant?: { readonly content: string };
  };
  assert.deepEqual([said.status, outcome], [200, "answered"]);
  assert.ok(assistant?.content);
}

/** What is served is all of the committed description that is not the feature's. */
async function assertDescribes(url: string, { routes, events = [] }: Additions): Promise<void> {
  const whole = JSON.parse(fs.readFileSync(join(root, "api/openapi.json"), "utf8")) as Description;
  const served = (await (await fetch(`${url}/api/openapi.json`)).json()) as Description;
  const paths = Object.keys(whole.paths);
  const own = paths.filter((path) => routes?.test(path));
  assert.deepEqual(
    Object.keys(served.paths).sort(),
    paths.filter((path) => !own.includes(path)).sort(),
  );
  for (const path of own) {
    assert.equal((await fetch(url + path)).status, 404, path);
    const init = { method: "POST", headers, body: "{}" };
    assert.equal((await fetch(url + path, init)).status, 404, path);
  }
  assert.deepEqual(
    eventsOf(served),
    eventsOf(whole).filter((name) => !events.includes(name)),
  );
}

const eventsOf = ({ components }: Description) =>
  Object.keys(components.schemas.ServerEvents.properties);
