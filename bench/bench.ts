// npm run bench: each figure is a ratio inside one interleaved run, so that the machine cancels out.
// Results go to bench/results/, with a description of the machine. A target that is missed is shown
// as missed: nothing here fails.
import { mkdirSync, writeFileSync } from "node:fs";
import { arch, cpus, release, totalmem, type } from "node:os";
import { buildCode } from "../scripts/build-code.ts";
import { useMoreThreads } from "../src/cli/env.ts";
import type { Figure } from "./figure.ts";
import { figures } from "./figures.ts";
import { momentFigures } from "./moments.ts";
import { postgresFigures } from "./postgres.ts";

useMoreThreads(); // as the program does
await buildCode(); // some figures are of the program that users run
const only = process.argv.slice(2);
const results: Figure[] = [];
for (const [name, measure] of Object.entries({
  ...figures,
  ...momentFigures,
  ...postgresFigures,
})) {
  if (only.length > 0 && !only.includes(name)) continue;
  for (const figure of await measure()) {
    results.push(figure);
    const verdict =
      figure.target === undefined ? "" : figure.ratio <= figure.target ? "ok" : "MISSED";
    const target = figure.target === undefined ? "" : `(at most ${figure.target})`;
    console.log(
      `${name.padEnd(10)} ${figure.ratio.toFixed(3).padStart(8)} ${target.padEnd(16)} ${verdict.padEnd(7)} ${figure.says}`,
    );
  }
}

const machine = {
  node: process.versions.node,
  system: `${type()} ${release()} ${arch()}`,
  cpu: `${cpus().length} x ${cpus()[0]?.model ?? "unknown"}`,
  memory_gib: Math.round(totalmem() / 2 ** 30),
};
mkdirSync("bench/results", { recursive: true });
const day = new Date().toISOString().slice(0, 10);
const path = `bench/results/${day}.json`;
if (only.length === 0) {
  writeFileSync(
    path,
    `${JSON.stringify({ at: new Date().toISOString(), machine, results }, undefined, 2)}\n`,
  );
  console.log(`written to ${path}`);
}
