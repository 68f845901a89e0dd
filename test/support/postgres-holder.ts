// A process of its own for postgres-paused.test.ts: holds the lease of one chat and appends to it until
// it is refused. Prints a line of JSON for every append that was acknowledged, and one at the end.
import pg from "pg";
import { isThroughlineError } from "../../src/core/errors.ts";
import { openPostgresStorage } from "../../src/postgres/postgres.ts";
import { contractProjection } from "../../src/testing/log-store-contract-fixtures.ts";

const [, , connectionString = "", key = "", leaseMs = ""] = process.argv;
const pool = new pg.Pool({ connectionString, max: 3 });
pool.on("connect", (client) => client.on("error", () => undefined));
const storage = await openPostgresStorage({
  pool,
  durability: "process",
  leaseMs: Number(leaseMs),
});
const log = storage.logs("chats", contractProjection);
const lease = await storage.leases.acquire({ collection: "chats", key });

async function codeOf(write: Promise<unknown>): Promise<string> {
  try {
    await write;
    return "stored";
  } catch (error) {
    return isThroughlineError(error) ? error.code : String(error);
  }
}

const say = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);
let code = "stored";
for (let n = 1; code === "stored"; n++) {
  code = await codeOf(log.append(key, [{ id: `held${n}`, content: "before" }]));
  if (code === "stored") say({ n });
}
const codes = [
  code,
  await codeOf(log.append(key, [{ id: "late", content: "after" }], { expectedSeq: 1 })),
  await codeOf(log.erase(key, ["held1"])),
  await codeOf(log.delete(key)),
];
if (!lease.lost.aborted)
  await new Promise((resolve) => lease.lost.addEventListener("abort", resolve));
say({ codes });
await storage.close();
await pool.end();
