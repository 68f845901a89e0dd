// RELIABILITY.md, test technique 13: a process that is stopped while it holds a chat, and goes on when
// another one has it, writes nothing.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { openPostgresStorage } from "../../src/postgres/postgres.ts";
import { contractProjection, everything } from "../../src/testing/log-store-contract-fixtures.ts";
import { Child } from "../support/command-line.ts";
import { noPostgres, withPostgres } from "../support/test-postgres.ts";

const reason = noPostgres();
const server = reason === undefined ? await withPostgres() : undefined;
const url = (await server?.newDatabase()) ?? "";
const leaseMs = 700;

/** The lines of a process that holds a chat, in order. */
function holder(t: TestContext, key: string) {
  const args = ["test/support/postgres-holder.ts", url, key, String(leaseMs)];
  const running = new Child(t, process.execPath, args, {});
  const lines = running.lines();
  return {
    kill: (signal: NodeJS.Signals) => running.child.kill(signal),
    async line(): Promise<{ readonly n?: number; readonly codes?: readonly string[] }> {
      return JSON.parse((await lines.next()).value ?? "{}");
    },
  };
}

for (const appends of [1, 7, 40]) {
  test(`a process stopped after ${appends} appends writes nothing once another has the chat`, {
    ...(reason === undefined ? {} : { skip: reason }),
  }, async (t) => {
    const pool = server?.pool(url);
    assert.ok(pool);
    await using storage = await openPostgresStorage({ pool, durability: "process", leaseMs });
    const log = storage.logs("chats", contractProjection);
    const key = `chat:${appends}`;
    const stopped = holder(t, key);
    let acknowledged = 0;
    while (acknowledged < appends) acknowledged = (await stopped.line()).n ?? 0;
    stopped.kill("SIGSTOP");
    const lease = await storage.leases.acquire({ collection: "chats", key });
    const seq = (await log.tail(key, 0))?.seq ?? 0;
    await log.append(key, [{ id: "taken", content: "over" }], { expectedSeq: seq });
    stopped.kill("SIGCONT");
    let last = await stopped.line();
    for (; last.n !== undefined; last = await stopped.line()) acknowledged = last.n;
    assert.deepEqual(last.codes, new Array(4).fill("THROUGHLINE_FENCED"));
    const ids = (await everything(log, key)).map(({ id }) => id);
    assert.equal(ids.at(-1), "taken");
    const held = ids.slice(0, -1);
    assert.deepEqual(
      held,
      held.map((_, index) => `held${index + 1}`),
    );
    assert.ok(held.length >= acknowledged && held.length <= acknowledged + 1);
    assert.equal(lease.lost.aborted, false);
  });
}
