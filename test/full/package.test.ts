// What a stranger gets: the packed package, installed elsewhere, from the registry's dependencies.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, before, describe, test } from "node:test";

const root = join(import.meta.dirname, "../..");
const tools = join(root, "node_modules/.bin");
const own = JSON.parse(fs.readFileSync(join(root, "package.json"), "utf8")) as {
  readonly version: string;
  readonly dependencies: Record<string, string>;
  readonly exports: Record<string, unknown>;
};
const doors = Object.keys(own.exports)
  .filter((door) => !door.endsWith(".json"))
  .map((door) => `throughline${door.slice(1)}`);

/** Runs a program to its end, which must be a good one. @returns what it printed. */
function run(cwd: string, program: string, ...args: readonly string[]): string {
  const { NODE_OPTIONS: _, NODE_TEST_CONTEXT: __, ...variables } = process.env;
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    ...{ cwd, encoding: "utf8", timeout: 300_000, maxBuffer: 64 * 1024 * 1024 },
    env: { ...variables, PATH: [tools, process.env["PATH"]].join(delimiter), NO_COLOR: "1" },
  });
  assert.equal(status, 0, `${[program, ...args].join(" ")}: ${error ?? ""}\n${stdout}\n${stderr}`);
  return stdout;
}

interface Packed {
  readonly filename: string;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string }[];
}

describe("the package", () => {
  const place = fs.mkdtempSync(join(tmpdir(), "throughline-package-"));
  /** With all that it depends on. */
  const installed = join(place, "installed");
  /** Unpacked, and nothing beside it. */
  const bare = join(place, "bare");
  let packed: Packed;
  let tarball: string;

  before(() => {
    // Not while others run what was built.
    if (process.env["THROUGHLINE_BUILT"] !== "1") run(root, "npm", "run", "--silent", "build");
    const json = run(
      root,
      "npm",
      "pack",
      "--json",
      "--ignore-scripts",
      "--pack-destination",
      place,
    );
    [packed] = JSON.parse(json) as [Packed];
    tarball = join(place, packed.filename);
    for (const directory of [installed, join(bare, "node_modules")]) {
      fs.mkdirSync(directory, { recursive: true });
    }
    run(join(bare, "node_modules"), "tar", "-xzf", tarball);
    fs.renameSync(join(bare, "node_modules/package"), join(bare, "node_modules/throughline"));
    const manifest = { name: "stranger", private: true, type: "module" };
    fs.writeFileSync(join(installed, "package.json"), JSON.stringify(manifest));
    fs.writeFileSync(join(bare, "package.json"), JSON.stringify(manifest));
    run(installed, "npm", "install", "--no-audit", "--no-fund", "--prefer-offline", tarball);
  });
  after(() => fs.rmSync(place, { recursive: true, force: true }));

  test("holds what was built, its documents and nothing else", (t) => {
    t.diagnostic(`${packed.files.length} files, ${packed.unpackedSize} bytes unpacked`);
    const expected =
      /^(dist|docs)\/|^(package\.json|README\.md|LICENSE|CHANGELOG\.md|ARCHITECTURE\.md)$/;
    const paths = packed.files.map(({ path }) => path);
    assert.deepEqual(
      paths.filter((path) => !expected.test(path) || /\.test\.|\.tmp-/.test(path)),
      [],
    );
    for (const path of [
      "dist/index.js",
      "dist/index.d.ts",
      "dist/app/main.js",
      "README.md",
      "LICENSE",
    ]) {
      assert.ok(paths.includes(path), path);
    }
    assert.ok(packed.unpackedSize < 4 * 1024 * 1024, `${packed.unpackedSize} bytes`);
  });

  for (const door of doors) {
    test(`import "${door}" gives what it names, with every dependency installed`, () => {
      const program = `console.log(Object.keys(await import("${door}")).length)`;
      assert.ok(Number(run(installed, process.execPath, "--input-type=module", "-e", program)) > 0);
    });
  }

  for (const door of ["throughline", "throughline/testing"]) {
    test(`import "${door}" needs nothing else to be installed`, () => {
      const program = `console.log(Object.keys(await import("${door}")).length)`;
      assert.ok(Number(run(bare, process.execPath, "--input-type=module", "-e", program)) > 0);
    });
  }

  test("a process that imports and opens a home loads at most 6 files, all of them ours", () => {
    const program = `
      import { registerHooks } from "node:module";
      const loaded = [];
      const load = (url, context, next) => {
        if (url.startsWith("file:")) loaded.push(url);
        return next(url, context);
      };
      registerHooks({ load });
      const { openThroughline } = await import("throughline");
      await using memories = await openThroughline({ home: "opened" });
      await memories.chats.append("a", [{ role: "user", content: "Hello" }]);
      await memories.chats.messages("a");
      console.log(JSON.stringify(loaded));`;
    const printed = run(installed, process.execPath, "--input-type=module", "-e", program);
    const names = (JSON.parse(printed) as string[]).map((url) => url.split("/throughline/").at(-1));
    assert.ok(names.length <= 6, names.join(" "));
    assert.deepEqual(
      names.filter((name) => !name?.startsWith("dist/") || name.includes("vendor")),
      [],
    );
  });

  describe("the bundled code", () => {
    /** Every module by the file that it is in: the bundler says above each where it came from. */
    const modules = () =>
      packed.files
        .filter(({ path }) => /^dist\/.*\.js$/.test(path) && !path.startsWith("dist/web/"))
        .flatMap(({ path }) =>
          [
            ...fs
              .readFileSync(join(bare, "node_modules/throughline", path), "utf8")
              .matchAll(/^\/\/ (\S+\.[cm]?[jt]s)$/gm),
          ].map(([, module = ""]) => ({ path, module })),
        );

    test("is in one file only: two doors share what they share", () => {
      const seen = new Map<string, string>();
      const twice = modules().filter(({ path, module }) => {
        const isTwice = seen.has(module);
        seen.set(module, path);
        return isTwice;
      });
      assert.ok(seen.has("src/core/errors.ts") && seen.size > 300, `${seen.size} modules`);
      assert.deepEqual(twice, []);
    });

    test("comes with the licence of every package that it holds code of", () => {
      const notice = join(bare, "node_modules/throughline/dist/chunks/THIRD-PARTY.txt");
      const parts = fs.readFileSync(notice, "utf8").split(/\n-{80}\n/);
      const names = new Set(
        modules().flatMap(
          ({ module }) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(module)?.[1] ?? [],
        ),
      );
      assert.ok(names.has("hono") && names.has("zod"), [...names].join(" "));
      for (const name of names) {
        const part = parts.find((each) => each.trimStart().startsWith(`${name} `));
        assert.match(part ?? "", /Permission is hereby granted, free of charge/, name);
      }
    });
  });

  test("comes with the licences of what is in the page", () => {
    const notice = join(bare, "node_modules/throughline/dist/web/THIRD-PARTY.txt");
    assert.match(
      fs.readFileSync(notice, "utf8"),
      /^react-dom \d[\s\S]*Permission is hereby granted/m,
    );
  });

  test("the programs of README.md run where the package is installed", () => {
    const text = fs.readFileSync(join(root, "README.md"), "utf8");
    const programs = [...text.matchAll(/^```(ts|js)\n([\s\S]*?)^```$/gm)].filter(
      ([, , program = ""]) => !program.includes("// not run"),
    );
    assert.ok(programs.length > 0, "README.md has no program");
    for (const [i, [, language, program = ""]] of programs.entries()) {
      const path = join(installed, `readme-${i}.${language}`);
      fs.writeFileSync(path, program);
      run(installed, process.execPath, path);
    }
  });

  test("the command tells its version, and serves the page and the API until it is told to end", async (t) => {
    const command = join(installed, "node_modules/.bin/throughline");
    assert.equal(run(installed, command, "--version").trim(), own.version);
    const args = ["serve", "--home", join(place, "home"), "--port", "0", "--model", "offline"];
    const env = { PATH: [tools, process.env["PATH"]].join(delimiter), LOG_LEVEL: "silent" };
    const child = spawn(command, args, { env, stdio: ["ignore", "pipe", "inherit"] });
    t.after(() => child.kill("SIGKILL"));
    let said = "";
    for await (const text of child.stdout.setEncoding("utf8")) {
      said += text;
      if (said.includes("\n")) break;
    }
    const url = /http:\/\/[^\s/]+/.exec(said)?.[0] ?? assert.fail(said);
    const page = await fetch(`${url}/`);
    assert.match(page.headers.get("content-type") ?? "", /^text\/html/);
    assert.match(await page.text(), /<title>/);
    assert.deepEqual(await (await fetch(`${url}/api/chats`)).json(), { chats: [] });
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    assert.deepEqual(await ended, [0, null]);
  });

  test("nothing that is installed with it runs a script at its installation", (t) => {
    const lock = JSON.parse(
      fs.readFileSync(join(installed, "node_modules/.package-lock.json"), "utf8"),
    ) as { readonly packages: Record<string, { readonly hasInstallScript?: boolean }> };
    const packages = Object.entries(lock.packages);
    t.diagnostic(`${packages.length} packages are installed, ours among them`);
    assert.deepEqual(
      packages.filter(([, { hasInstallScript }]) => hasInstallScript === true),
      [],
    );
    for (const [name, version] of Object.entries(own.dependencies)) {
      assert.match(version, /^\d+\.\d+\.\d+$/, `${name} is not pinned`);
    }
    assert.ok(packages.length <= 80, `${packages.length} packages`);
  });

  test("publint finds nothing, also when it is strict", () => {
    run(root, join(tools, "publint"), tarball, "--strict");
  });

  test("attw finds types for every door, as ES modules", () => {
    run(root, join(tools, "attw"), tarball, "--profile", "esm-only", "--no-emoji");
  });
});
