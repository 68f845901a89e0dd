// node scripts/build-page.ts: dashboard/ as the page that the server serves, in dist/web. Does
// nothing, and says nothing, while that is up to date.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const web = join(root, "dist/web");
/** What the page was built from. The server serves no file with such a name. */
const stampName = "built-from";

/** Builds the page, unless nothing changed since it was built. @returns whether it was built. */
export async function buildPage(): Promise<boolean> {
  const stamp = sourcesStamp();
  if (builtFrom() === stamp) return false;
  process.stderr.write("Building the page, once.\n");
  // Beside its place, and then moved there: two that build at once do not mix their files.
  const made = `${web}.${process.pid}`;
  try {
    const { build } = await import("vite");
    await build({
      root: join(root, "dashboard"),
      logLevel: "warn",
      build: { outDir: made, emptyOutDir: true },
    });
    writeFileSync(join(made, stampName), stamp);
    putInPlace(made, stamp);
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
  return true;
}

/** Moves a finished page to where it is served from. */
function putInPlace(made: string, stamp: string): void {
  const old = `${made}.old`;
  for (;;) {
    if (builtFrom() === stamp) return; // another process was faster
    try {
      renameSync(web, old);
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw error;
    }
    rmSync(old, { recursive: true, force: true });
    try {
      renameSync(made, web);
      return;
    } catch (error) {
      // Another process moved its own there between the two steps.
      if (!["ENOTEMPTY", "EEXIST"].includes(codeOf(error))) throw error;
    }
  }
}

function builtFrom(): string | undefined {
  try {
    return readFileSync(join(web, stampName), "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Changes with every file that the page is made of: its name, length and time, and the packages. */
function sourcesStamp(): string {
  const hash = createHash("sha256");
  const names = readdirSync(join(root, "dashboard"), { recursive: true, encoding: "utf8" });
  const sources = names
    .filter((name) => !/(^|[\\/])(node_modules|dist)([\\/]|$)|\.test\.tsx?$/.test(name))
    .map((name) => join("dashboard", name));
  for (const name of ["package-lock.json", ...sources.sort()]) {
    const { size, mtimeMs, isDirectory } = statOf(name);
    if (!isDirectory) hash.update(`${name}\0${size}\0${mtimeMs}\n`);
  }
  return hash.digest("hex");
}

function statOf(name: string) {
  const stats = statSync(join(root, name));
  return { size: stats.size, mtimeMs: stats.mtimeMs, isDirectory: stats.isDirectory() };
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "";
}

if (import.meta.main) await buildPage();
