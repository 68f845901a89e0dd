// Programs of the documents, as a test runs them.
import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");
const isBuilt = process.env["THROUGHLINE_BUILT"] === "1";

/**
 * The text of a program for a file in a folder of `test/`: what it imports of the package is what its
 * export names; without a build, the source of that.
 */
export function imported(text: string): string {
  const { exports } = JSON.parse(fs.readFileSync(join(root, "package.json"), "utf8")) as {
    readonly exports: Record<string, { readonly default?: string }>;
  };
  return text.replaceAll(/(from |import\()"throughline((?:\/[\w-]+)*)"/g, (_, how, path) => {
    const built = exports[`.${path}`]?.default ?? assert.fail(`throughline${path} is no export`);
    const source = built.replace("./dist/", "./src/").replace(/\.js$/, ".ts");
    return `${how}"../../${isBuilt ? built : source}"`;
  });
}
