// npm run build: what is published, in dist, from nothing: the JavaScript, its types and the page.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { buildCode } from "./build-code.ts";
import { buildPage } from "./build-page.ts";
import { root } from "./stamp.ts";

rmSync("dist", { recursive: true, force: true });
const { status } = spawnSync("tsc", ["-p", "tsconfig.build.json"], { stdio: "inherit" });
if (status !== 0) process.exit(status ?? 1);
dropUnreachableTypes();
await buildCode();
await buildPage();

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
}

/** Of the types in dist, deletes those that nobody can name who imports the package. */
function dropUnreachableTypes(): void {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;
  const entries = Object.values(exports).flatMap((entry) =>
    typeof entry === "string" ? [] : [join(root, entry.types)],
  );
  const kept = new Set(entries);
  for (const path of kept) {
    const text = readFileSync(path, "utf8");
    for (const [, name = ""] of text.matchAll(/(?:from |import\()"(\.[^"]+)\.(?:js|ts)"/g)) {
      kept.add(normalize(join(dirname(path), `${name}.d.ts`)));
    }
  }
  const dist = join(root, "dist");
  for (const name of readdirSync(dist, { recursive: true, encoding: "utf8" })) {
    const path = join(dist, name);
    if (name.endsWith(".d.ts") && !kept.has(path)) rmSync(path);
  }
}
