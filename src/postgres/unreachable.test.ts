// A database that is not there, for a process that has nothing else to do: it lives until it knows.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

const url = (name: string) => JSON.stringify(pathToFileURL(join(import.meta.dirname, name)));
const timeoutMs = 400;

/** Pools of databases that are not there, in a script. */
const pools = {
  "refuses every connection": `new pg.Pool({ connectionString: "postgres://u:p@127.0.0.1:1/x" })`,
  "gives no connection": "{ ...silent, connect: forEver }",
  "throws in the place of giving a connection": `{ ...silent, connect() { throw new Error("no file"); } }`,
  "gives a connection that never answers":
    "{ ...silent, connect: async () => ({ on() {}, release() {}, query: forEver }) }",
  "stops to answer": `{ ...silent,
    connect: async () => {
      let count = 0;
      const query = async () => (count++ === 0 ? { rows: [{ standby: false }] } : forEver());
      return { on() {}, release() {}, query };
    } }`,
};

test("whatever a database that is not there does, it is waited for until the deadline, and is UNAVAILABLE then", async () => {
  const script = `
    const { default: pg } = await import(${JSON.stringify(import.meta.resolve("pg"))});
    const { openPostgresStorage } = await import(${url("postgres.ts")});
    const forEver = () => new Promise(() => {});
    const silent = { on() {} };
    for (const pool of [${Object.values(pools).join(", ")}]) {
      const started = performance.now();
      const error = await openPostgresStorage({ pool, timeoutMs: ${timeoutMs} }).catch((error) => error);
      console.log(JSON.stringify({ code: error.code, tookMs: performance.now() - started }));
    }`;
  const args = ["--input-type=module", "--eval", script];
  const child = spawn(process.execPath, args, { timeout: 60_000 });
  let out = "";
  child.stdout.on("data", (chunk: Buffer) => {
    out += chunk.toString();
  });
  assert.deepEqual(await once(child, "close"), [0, null]);
  const told = out.trim().split("\n");
  for (const [index, what] of Object.keys(pools).entries()) {
    const { code, tookMs } = JSON.parse(told[index] ?? "{}");
    assert.equal(code, "THROUGHLINE_UNAVAILABLE", what);
    assert.ok(tookMs > timeoutMs / 4 && tookMs < timeoutMs + 8_000, `${what}: after ${tookMs} ms`);
  }
});
