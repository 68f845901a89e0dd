// The package as `npm pack` makes it in a fresh clone, and as a stranger installs it in a folder of their own.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import fs from "node:fs";
import { delimiter, dirname, join } from "node:path";

const root = join(import.meta.dirname, "../..");
const tools = join(root, "node_modules/.bin");

export interface Packed {
  readonly filename: string;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string }[];
}

/** The variables of a program that a stranger runs: none of the test runner's, and our Node first. */
export function strangersEnv(): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _, NODE_TEST_CONTEXT: __, ...variables } = process.env;
  return { ...variables, PATH: [tools, process.env["PATH"]].join(delimiter), NO_COLOR: "1" };
}

/** Runs a program to its end, which must be a good one. @returns what it printed. */
export function run(cwd: string, program: string, ...args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    ...{ cwd, encoding: "utf8", timeout: 300_000, maxBuffer: 64 * 1024 * 1024 },
    env: strangersEnv(),
  });
  assert.equal(status, 0, `${[program, ...args].join(" ")}: ${error ?? ""}\n${stdout}\n${stderr}`);
  return stdout;
}

/** Packs a copy of the committed files in which nothing was built. */
export function packClone(place: string): Packed {
  const clone = join(place, "clone");
  const names = execFileSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8" });
  for (const name of names.split("\0")) {
    if (name === "" || !fs.existsSync(join(root, name))) continue;
    fs.mkdirSync(dirname(join(clone, name)), { recursive: true });
    fs.copyFileSync(join(root, name), join(clone, name));
  }
  fs.symlinkSync(join(root, "node_modules"), join(clone, "node_modules"));
  const printed = run(clone, "npm", "pack", "--json", "--silent", "--pack-destination", place);
  const [packed] = JSON.parse(printed.slice(printed.indexOf("[\n"))) as [Packed];
  return packed;
}

/** Installs a packed package in a new folder, whose manifest is as `npm init -y` writes it. */
export function installPacked(folder: string, tarball: string): void {
  fs.mkdirSync(folder);
  const manifest = { name: "stranger", version: "1.0.0", main: "index.js", type: "commonjs" };
  fs.writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  run(folder, "npm", "install", "--no-audit", "--no-fund", "--offline", tarball);
}
