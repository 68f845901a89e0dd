// npm run bench [-- NAME… --full --json FILE --against DIR --in-memory]: each figure is a ratio inside one run
// in which the contenders take turns, so that the machine cancels out. `--against` names another built
// checkout of this product, which takes part; with `--in-memory` writes are measured a second time, on an
// ext4 file system in memory. Results go to bench/results/, with a description of the
// machine. A target that is missed is shown as missed, and is no failure.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { arch, cpus, release, totalmem, type } from "node:os";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { buildCode } from "../scripts/build-code.ts";
import { useMoreThreads } from "../src/cli/env.ts";
import { askChild } from "./child.ts";
import { type Figure, linesOf, verdictOf } from "./figure.ts";
import { RawFile } from "./raw-file.ts";
import { median } from "./samples.ts";
import { type Scratch, scratch, scratchInMemory } from "./scratch.ts";

await buildCode(); // what is measured is what users run
const { catalogue, ofWrites } = await import("./catalogue.ts"); // it loads what was built
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    full: { type: "boolean", default: false },
    json: { type: "string" },
    against: { type: "string" },
    "in-memory": { type: "boolean", default: false },
  },
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
const syncMs = syncTime(dir.path);
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, () => process.exit(1)); // ends the child
}
process.once("exit", () => dir.remove());
const inMemory = values["in-memory"] ? memoryPlace() : undefined;
const results: (Figure & { readonly name: string })[] = [];
for (const [where, place] of Object.entries({ "": dir, "in memory: ": inMemory })) {
  for (const name of names) {
    if (place === undefined || (place === inMemory && !ofWrites.includes(name))) continue;
    const own = `${place.path}/${name}`;
    mkdirSync(own);
    try {
      for (const figure of await measure(name, own)) {
        const says = `${where}${figure.says}`;
        results.push({ ...figure, name, says });
        console.log(linesOf(name, { ...figure, says }));
      }
    } catch (error) {
      console.error(`${name.padEnd(10)} FAILED: ${error}`);
      process.exitCode = 1;
    }
    rmSync(own, { recursive: true, force: true });
  }
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
    disk_sync_ms: syncMs,
  };
  const at = new Date().toISOString();
  writeFileSync(
    path,
    `${JSON.stringify({ at, machine, full: values.full, results }, undefined, 2)}\n`,
  );
  console.log(`written to ${path}`);
}

/** It goes when this process ends. */
function memoryPlace(): Scratch | undefined {
  try {
    const place = scratchInMemory();
    process.once("exit", () => place.remove());
    return place;
  } catch (error) {
    console.error(`nothing is measured in memory: ${error}`);
    return undefined;
  }
}

function measure(name: string, own: string): Promise<readonly Figure[]> {
  const env = { ...process.env };
  if (values.against !== undefined) env["THROUGHLINE_AGAINST"] = resolve(values.against);
  // The program has more threads for files than a library gets from Node.
  if (name === "http" || !Object.hasOwn(catalogue["storage"] ?? {}, name)) useMoreThreads(env);
  const args = [name, own, ...(values.full ? ["full"] : [])];
  return askChild(new URL("./one.ts", import.meta.url), args, env);
}

/** How fast the disk is: one write of 1 KiB and its fdatasync, in milliseconds. */
function syncTime(path: string): number {
  const file = new RawFile(`${path}/disk`, 1_024);
  const samples = Array.from({ length: 200 }, () => {
    const started = performance.now();
    file.writeDurably();
    return performance.now() - started;
  });
  file.close();
  return Number(median(samples).toFixed(3));
}
