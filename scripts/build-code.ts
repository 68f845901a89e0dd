// node scripts/build-code.ts: src/ as the JavaScript that is published, in dist. Does nothing, and says
// nothing, while that is up to date.
import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { OutputChunk } from "rolldown";
import { inAscii } from "./ascii.ts";
import { withoutImportsOfNode } from "./builtins.ts";
import { chunkPlan } from "./chunks.ts";
import { withoutDetours } from "./detours.ts";
import { builtFrom, root, sourcesIn, stampName, stampOf } from "./stamp.ts";
import { thirdPartyNotice } from "./third-party.ts";

const dist = join(root, "dist");
/** One level deep, as the folders of the entries: what looks for files beside the code finds them. */
const chunkFolder = "chunks";

/**
 * Bundled, because every start loads them, module by module more slowly than all the rest: it is half
 * of what a server takes to start. All other packages stay packages, loaded when they are needed.
 */
const bundled = ["hono", "@hono/node-server", "@hono/zod-openapi", "zod", "ws", "commander"];

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
}

/** Builds the code, unless nothing changed since it was built. @returns whether it was built. */
export async function buildCode(): Promise<boolean> {
  const names = ["ascii", "build-code", "builtins", "chunks", "detours"];
  const scripts = names.map((name) => `scripts/${name}.ts`);
  const own = ["package.json", "package-lock.json", ...scripts];
  const stamp = stampOf([...own, ...sourcesIn("src")]);
  if (builtFrom(join(dist, chunkFolder)) === stamp) return false;
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;
  const output = await bundle(manifest);
  // What others import comes first, and what says that all is there comes last.
  const inOrder = output.toSorted((a, b) => Number(a.isEntry) - Number(b.isEntry));
  for (const { fileName, code } of inOrder)
    putInPlace(fileName, inAscii(withoutImportsOfNode(code)));
  const modules = output.flatMap((chunk) => chunk.moduleIds);
  putInPlace(`${chunkFolder}/THIRD-PARTY.txt`, thirdPartyNotice(modules));
  for (const path of Object.values(manifest.bin)) chmodSync(join(root, path), 0o755);
  putInPlace(`${chunkFolder}/${stampName}`, stamp);
  return true;
}

async function bundle(manifest: Manifest): Promise<readonly OutputChunk[]> {
  const entries = entriesOf(manifest);
  const packages = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
  const external = packages.filter((name) => !bundled.includes(name));
  const { plugin, groups } = chunkPlan();
  const { rolldown } = await import("rolldown"); // only here: most starts find all built
  const build = await rolldown({
    input: entries,
    cwd: root,
    platform: "node",
    plugins: [plugin],
    external: (id) => external.some((name) => id === name || id.startsWith(`${name}/`)),
    transform: { target: "es2023" },
    onLog(level, log) {
      // What is in the same chunk as who loads it later is there already: the plan says so.
      if (level !== "warn" || log.code === "INEFFECTIVE_DYNAMIC_IMPORT") return;
      throw new Error(log.message);
    },
  });
  const { output } = await build.generate({
    format: "esm",
    // Names and lines stay as they were written, so that no map is needed: with it the package would
    // be half as large again. The types have the comments.
    comments: { legal: false, jsdoc: false, annotation: true },
    entryFileNames: "[name].js",
    chunkFileNames: `${chunkFolder}/[name]-[hash].js`,
    codeSplitting: { groups },
  });
  await build.close();
  return withoutDetours(output.filter((file) => file.type === "chunk"));
}

/** The doors and the command, by the path in dist without `.js`: each has its source at the same. */
function entriesOf({ bin, exports }: Manifest): Record<string, string> {
  const doors = Object.values(exports).map((door) =>
    typeof door === "string" ? door : door.default,
  );
  const paths = [...doors, ...Object.values(bin)].flatMap(
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
