// node scripts/build-code.ts: src/ as the JavaScript that is published, in dist. Does nothing, and says
// nothing, while that is up to date.
import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { InputOptions, OutputChunk, OutputOptions, Plugin } from "rolldown";
import { chunkPlan } from "./chunks.ts";
import { inAscii, withoutImportsOfNode } from "./quick-code.ts";
import { builtFrom, root, sourcesIn, stampName, stampOf } from "./stamp.ts";
import { thirdPartyNotice } from "./third-party.ts";

const dist = join(root, "dist");
/** One level deep, as the folders of the entries: what looks for files beside the code finds them. */
const chunkFolder = "chunks";
/** Of the packages whose code is part of all this, beside what the page is made of. */
const notice = "THIRD-PARTY-NOTICES.txt";

/**
 * The packages that the sources load with `createRequire`, where nothing can wait for an `import()`. Each becomes
 * a file of its own, loaded when it is needed.
 */
const required = { pino: "pino", yaml: "yaml" };

/** What runs in threads of their own, by the path in dist without `.js`. */
const workers = {
  "workers/index-thread": join(root, "src/core/storage/files/index-thread.ts"),
  "workers/projections": join(root, "src/core/projections.ts"),
};

interface Manifest {
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
}

/** Builds the code, unless nothing changed since it was built. @returns whether it was built. */
export async function buildCode(): Promise<boolean> {
  const names = ["build-code", "chunks", "quick-code", "third-party"];
  const scripts = names.map((name) => `scripts/${name}.ts`);
  const own = ["package.json", "package-lock.json", ...scripts];
  const stamp = stampOf([...own, ...sourcesIn("src")]);
  if (builtFrom(join(dist, chunkFolder)) === stamp) return false;
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;
  const needed = await bundleRequired();
  const chunks = await bundle(manifest, needed);
  // What others load comes first, and what says that all is there comes last.
  for (const { fileName, code } of needed) putInPlace(fileName, inAscii(code));
  const inOrder = chunks.toSorted((a, b) => Number(a.isEntry) - Number(b.isEntry));
  for (const { fileName, code } of inOrder)
    putInPlace(fileName, inAscii(withoutImportsOfNode(code)));
  putInPlace(notice, thirdPartyNotice([...needed, ...chunks].flatMap((chunk) => chunk.moduleIds)));
  for (const path of Object.values(manifest.bin)) chmodSync(join(root, path), 0o755);
  putInPlace(`${chunkFolder}/${stampName}`, stamp);
  return true;
}

/**
 * Bundles the sources with all packages that they import, but for the peers: people install those that they use.
 */
async function bundle(
  manifest: Manifest,
  needed: readonly OutputChunk[],
): Promise<readonly OutputChunk[]> {
  const { plugin, groups } = chunkPlan();
  // What the code uses of `ai` is bundled; a reader's own is a peer for its types.
  const peers = Object.keys(manifest.peerDependencies).filter((name) => name !== "ai");
  return generate(
    {
      input: { ...entriesOf(manifest), ...workers },
      plugins: [plugin, mcpWithoutAjv, requireFrom(needed)],
      external: (id) => peers.some((name) => id === name || id.startsWith(`${name}/`)),
    },
    {
      format: "esm",
      entryFileNames: "[name].js",
      chunkFileNames: `${chunkFolder}/[name]-[hash].js`,
      codeSplitting: { groups },
    },
  );
}

/**
 * The MCP server has a copy of ajv for what a client answers to its questions. Ours asks none, so that what would
 * be a third of its code is left out.
 */
const mcpWithoutAjv: Plugin = {
  name: "mcp-without-ajv",
  load: (id) =>
    /@modelcontextprotocol[\\/]server[\\/]dist[\\/]shimsNode\.mjs$/.test(id)
      ? `import process from "node:process";
         export class DefaultJsonSchemaValidator {
           getValidator() { throw new Error("this server asks its clients nothing"); }
         }
         export { process };`
      : null,
};

/** In CommonJS, for `require`. */
function bundleRequired(): Promise<readonly OutputChunk[]> {
  const names = `${chunkFolder}/[name]-[hash].cjs`;
  return generate(
    { input: required },
    { format: "cjs", entryFileNames: names, chunkFileNames: names },
  );
}

/** Lets the sources load those files instead of the packages. */
function requireFrom(needed: readonly OutputChunk[]): Plugin {
  return {
    name: "require-from",
    transform(code) {
      return code.replaceAll(
        /(createRequire\(import\.meta\.url\))\("([^"]+)"\)/g,
        (_, load, name) => {
          const file = needed.find((each) => each.name === name);
          if (file === undefined) throw new Error(`${name} is missing in \`required\``);
          return `${load}("../${file.fileName}")`;
        },
      );
    },
  };
}

async function generate(
  input: InputOptions,
  options: OutputOptions,
): Promise<readonly OutputChunk[]> {
  const { rolldown } = await import("rolldown"); // only here: most starts find all built
  const build = await rolldown({
    ...input,
    cwd: root,
    platform: "node",
    transform: { target: "es2023" },
    onLog(level, log) {
      // What is in the same chunk as who loads it later is there already: the plan says so.
      if (level !== "warn" || log.code === "INEFFECTIVE_DYNAMIC_IMPORT") return;
      throw new Error(log.message);
    },
  });
  // Names and lines stay as they were written, so that no map is needed: with it the package would
  // be half as large again. The types have the comments.
  const comments = { legal: false, jsdoc: false, annotation: true };
  const { output } = await build.generate({ ...options, comments });
  await build.close();
  return output.filter((file) => file.type === "chunk");
}

/** The entry points and the command, by the path in dist without `.js`: each has its source at the same. */
function entriesOf({ bin, exports }: Manifest): Record<string, string> {
  const entries = Object.values(exports).map((entry) =>
    typeof entry === "string" ? entry : entry.default,
  );
  const paths = [...entries, ...Object.values(bin)].flatMap(
    (path) => /^(?:\.\/)?dist\/(.+)\.js$/.exec(path)?.[1] ?? [],
  );
  return Object.fromEntries(paths.map((path) => [path, join(root, "src", `${path}.ts`)]));
}

/** Written beside its place and then moved there: nobody loads half a file. */
function putInPlace(name: string, text: string): void {
  const path = join(dist, name);
  const made = `${path}.${process.pid}`;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(made, text);
  renameSync(made, path);
}

if (import.meta.main) await buildCode();
