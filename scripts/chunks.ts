// Which modules lie in which file of the published JavaScript. Node takes some 0.5 ms for each file
// that it loads, so that one file for each thing that is loaded as a whole is what starts fastest; and
// importing one entry point must not load what another needs.
import { join } from "node:path";
import type { Plugin } from "rolldown";
import { root } from "./stamp.ts";

/**
 * From the inside out: a chunk holds all that its modules import, without what is in a chunk before
 * it, so that it depends on those alone. What is in none the bundler divides by who needs it.
 */
const chunks: readonly (readonly [name: string, modules: readonly string[]])[] = [
  ["base", ["index"]],
  // The thread that writes the index needs nothing else.
  ["index", ["core/storage/files/index-writer"]],
  ["core", ["core/throughline", "core/storage/files/open-file-storage", "postgres/error-class"]],
  ["turns", ["core/turns/turns", "core/turns/turns-options"]],
  ["models", ["core/models/models", "core/models/registry"]],
  ["companion", ["companion/start-companion"]],
  ["moments", ["moments/start-moments"]],
  ["server", ["server/server"]],
  ["routes", ["companion/routes", "moments/routes"]],
  ["command", ["app/program"]],
  ["openai", ["adapters/openai/item-log"]],
  [
    "serve",
    [
      "app/serve",
      "adapters/mcp/routes",
      "adapters/openai/routes",
      "companion/commands/home-run",
      "companion/routes",
      "moments/commands/start-moments",
      "moments/routes",
      "moments/turns/recall",
      "moments/turns/skills",
      "postgres/commands/open-store",
    ],
  ],
];
/** Packages have a chunk of their own: the licences are theirs. */
const vendor = "vendor";

interface Group {
  readonly name: string;
  readonly test: (id: string) => boolean;
  readonly priority: number;
}

const packages = /[\\/]node_modules[\\/]/;
/** The server has it, and so has the AI SDK: neither loads the other. */
const zod = /[\\/]node_modules[\\/]zod[\\/]/;

/** A module that lists what zod says of a mistake in 50 languages. What is said here is ours, or English. */
const languages = /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/;

/** zod as one object with all that it has. Only what describes the API uses it, so it lies there. */
const wholes = /[\\/]zod[\\/](?:v4[\\/](?:classic|core)[\\/])?(?:index|external)\.js$/;

/** The groups of modules, and what finds them out while the build reads the modules. */
export function chunkPlan(): {
  readonly plugin: Plugin;
  readonly groups: Group[];
} {
  const chunkOf = new Map<string, string>();
  const plugin: Plugin = {
    name: "chunk-plan",
    load: (id) => (languages.test(id) ? 'export { default as en } from "./en.js";' : null),
    buildEnd() {
      for (const [name, modules] of chunks) {
        const left = modules.map((module) => join(root, "src", `${module}.ts`));
        const seen = new Set(left);
        for (let id = left.pop(); id !== undefined; id = left.pop()) {
          const chunk = zod.test(id) ? "zod" : packages.test(id) ? `${name}-${vendor}` : name;
          if (!chunkOf.has(id) && !wholes.test(id)) chunkOf.set(id, chunk);
          for (const next of this.getModuleInfo(id)?.importedIds ?? []) {
            if (!seen.has(next)) left.push(next);
            seen.add(next);
          }
        }
      }
    },
  };
  const names = ["zod", ...chunks.flatMap(([name]) => [`${name}-${vendor}`, name])];
  const groups = names.map((name, index) => ({
    name,
    priority: names.length - index,
    test: (id: string) => chunkOf.get(id) === name,
  }));
  return { plugin, groups };
}
