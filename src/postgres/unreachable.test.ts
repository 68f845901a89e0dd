// A database that is not there, for a process that has nothing else to do: it lives until it knows.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

const url = (name: string) => JSON.stringify(pathToFileURL(join(import.meta.dirname, name)));
const timeoutMs = 400;

/** A script that opens this pool's storage and waits, as a user's does; and what became of it. */
async function opening(pool: string) {
  const script = `
    const { default: pg } = await import(${JSON.stringify(import.meta.resolve("pg"))});
    const { openPostgresStorage } = await import(${url("postgres.ts")});
    const forEver = () => new Promise(() => {});
    const pool = ${pool};
    const started = performance.now();
    const error = await openPostgresStorage({ pool, timeoutMs: ${timeoutMs} }).catch((error) => error);
    console.log(JSON.stringify({ code: error.code, tookMs: performance.now() - started }));`;
  const args = ["--input-type=module", "--eval", script];
  const child = spawn(process.execPath, args, { timeout: 10_000 });
  let out = "";
  child.stdout.on("data", (chunk: Buffer) => {
    out += chunk.toString();
  });
  const [exitCode] = await once(child, "close");
  return { exitCode, told: out === "" ? undefined : JSON.parse(out) };
}

for (const [what, pool] of [
  [
    "refuses every connection is tried again until the deadline",
    `new pg.Pool({ connectionString: "postgres://u:p@127.0.0.1:1/x" })`,
  ],
  [
    "gives no connection is waited for until the deadline",
    "{ on() {}, removeListener() {}, connect: forEver }",
  ],
  [
    "throws in the place of giving a connection is tried again until the deadline",
    `{ on() {}, removeListener() {}, connect() { throw new Error("no file"); } }`,
  ],
  [
    "gives a connection that never answers is waited for until the deadline",
    `{ on() {}, removeListener() {},
      connect: async () => ({ on() {}, release() {}, query: forEver }) }`,
  ],
  [
    "stops to answer is waited for until the deadline",
    `{ on() {}, removeListener() {},
      connect: async () => {
        let count = 0;
        const query = async () => (count++ === 0 ? { rows: [{ standby: false }] } : forEver());
        return { on() {}, release() {}, query };
      } }`,
  ],
] as const) {
  test(`a database that ${what}, and is UNAVAILABLE then`, async () => {
    const { exitCode, told } = await opening(pool);
    assert.deepEqual([exitCode, told?.code], [0, "THROUGHLINE_UNAVAILABLE"]);
    const { tookMs } = told;
    assert.ok(tookMs > timeoutMs / 4 && tookMs < timeoutMs + 8_000, `after ${tookMs} ms`);
  });
}
