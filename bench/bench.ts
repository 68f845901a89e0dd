// npm run bench [-- NAME… --full --json FILE]: each figure is a ratio inside one run in which the contenders
// take turns, so that the machine cancels out. Results go to bench/results/, with a description of the
// machine. A target that is missed is shown as missed: nothing here fails.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { arch, cpus, release, totalmem, type } from "node:os";
import { parseArgs } from "node:util";
import { buildCode } from "../scripts/build-code.ts";
import { askChild } from "./child.ts";
import { type Figure, linesOf, verdictOf } from "./figure.ts";
import { scratch } from "./scratch.ts";

await buildCode(); // what is measured is what users run
const { catalogue } = await import("./catalogue.ts"); // it loads what was built
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { full: { type: "boolean", default: false }, json: { type: "string" } },
});
const wanted = positionals.length === 0 ? ["storage"] : positionals;
const names = wanted.flatMap((name) => Object.keys(catalogue[name] ?? { [name]: true }));
const known = Object.values(catalogue).flatMap((group) => Object.keys(group));
const unknown = names.filter((name) => !known.includes(name));
if (unknown.length > 0) {
  console.error(
    `There is no ${unknown.join(", ")}. There are the groups ${Object.keys(catalogue).join(", ")}, and in them ${known.join(", ")}.`,
  );
  process.exit(2);
}

const dir = scratch();
process.once("SIGINT", () => {
  dir.remove();
  process.exit(130);
});
const results: (Figure & { readonly name: string })[] = [];
try {
  for (const name of names) {
    const own = `${dir.path}/${name}`;
    mkdirSync(own);
    const size = values.full ? ["full"] : [];
    for (const figure of await askChild<Figure[]>(new URL("./one.ts", import.meta.url), [
      name,
      own,
      ...size,
    ])) {
      results.push({ name, ...figure });
      console.log(linesOf(name, figure));
    }
    rmSync(own, { recursive: true });
  }
} finally {
  dir.remove();
}

const missed = results.filter((figure) => verdictOf(figure) === "MISSED");
console.log(`\n${missed.length} of ${results.length} figures miss their target`);
for (const { headline } of results) if (headline !== undefined) console.log(headline);

const day = new Date().toISOString().slice(0, 10);
const path = values.json ?? (positionals.length === 0 ? `bench/results/${day}.json` : undefined);
if (path !== undefined) {
  const machine = {
    node: process.versions.node,
    system: `${type()} ${release()} ${arch()}`,
    cpu: `${cpus().length} x ${cpus()[0]?.model ?? "unknown"}`,
    memory_gib: Math.round(totalmem() / 2 ** 30),
  };
  const at = new Date().toISOString();
  writeFileSync(
    path,
    `${JSON.stringify({ at, machine, full: values.full, results }, undefined, 2)}\n`,
  );
  console.log(`written to ${path}`);
}
