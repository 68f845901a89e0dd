// Whether what was built is still what its sources say.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));

/** Beside what was built: what it was built from. */
export const stampName = "built-from";

/** Every file below a folder of the project, without tests, packages and what was built. */
export function sourcesIn(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => !/(^|[\\/])(node_modules|dist)([\\/]|$)|\.test\.tsx?$/.test(name))
    .map((name) => join(folder, name))
    .sort();
}

/** Changes with every one of these files: its name, length and time. */
export function stampOf(names: readonly string[]): string {
  const hash = createHash("sha256");
  for (const name of names) {
    const stats = statSync(join(root, name));
    if (!stats.isDirectory()) hash.update(`${name}\0${stats.size}\0${stats.mtimeMs}\n`);
  }
  return hash.digest("hex");
}

/** The stamp in a folder of what was built; `undefined`: nothing was. */
export function builtFrom(folder: string): string | undefined {
  try {
    return readFileSync(join(folder, stampName), "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

export function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "";
}
