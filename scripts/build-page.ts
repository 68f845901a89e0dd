// node scripts/build-page.ts: dashboard/ as the page that the server serves, in dist/web. Does
// nothing, and says nothing, while that is up to date.
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { builtFrom, codeOf, root, sourcesIn, stampName, stampOf } from "./stamp.ts";
import { thirdPartyNotice } from "./third-party.ts";

/** The server serves no file with the stamp's name. */
const web = join(root, "dist/web");

/** Builds the page, unless nothing changed since it was built. @returns whether it was built. */
export async function buildPage(): Promise<boolean> {
  const stamp = stampOf([
    "package-lock.json",
    "scripts/build-page.ts",
    "scripts/third-party.ts",
    ...sourcesIn("dashboard"),
  ]);
  if (builtFrom(web) === stamp) return false;
  process.stderr.write("Building the page, once.\n");
  // Beside its place, and then moved there: two that build at once do not mix their files.
  const made = `${web}.${process.pid}`;
  try {
    const { build } = await import("vite");
    const built = await build({
      root: join(root, "dashboard"),
      logLevel: "warn",
      build: { outDir: made, emptyOutDir: true },
    });
    writeFileSync(join(made, "THIRD-PARTY.txt"), thirdPartyNotice(modulesOf(built)));
    compress(made);
    writeFileSync(join(made, stampName), stamp);
    putInPlace(made, stamp);
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
  return true;
}

/** The modules whose code is in the page. */
function modulesOf(built: Awaited<ReturnType<typeof import("vite").build>>): readonly string[] {
  const outputs = [built].flat().flatMap((each) => ("output" in each ? each.output : []));
  return outputs.flatMap((each) => (each.type === "chunk" ? each.moduleIds : []));
}

/** Writes each file in smaller forms beside it, as far as they are smaller. */
function compress(folder: string): void {
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    const path = join(folder, name);
    if (!statSync(path).isFile()) continue;
    const bytes = readFileSync(path);
    const brotli = { [constants.BROTLI_PARAM_QUALITY]: 11 };
    const forms = {
      br: brotliCompressSync(bytes, { params: brotli }),
      gz: gzipSync(bytes, { level: 9 }),
    };
    for (const [ending, form] of Object.entries(forms)) {
      if (form.length < bytes.length) writeFileSync(`${path}.${ending}`, form);
    }
  }
}

/** Moves a finished page to where it is served from, unless another process was faster. */
function putInPlace(made: string, stamp: string): void {
  while (builtFrom(web) !== stamp) {
    try {
      rmSync(web, { recursive: true, force: true });
      renameSync(made, web);
    } catch (error) {
      if (!["ENOTEMPTY", "EEXIST"].includes(codeOf(error))) throw error;
    }
  }
}

if (import.meta.main) await buildPage();
