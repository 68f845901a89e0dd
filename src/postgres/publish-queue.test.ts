import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../core/clock.ts";
import { silentLogger } from "../core/logger.ts";
import { systemTimers } from "../core/timers.ts";
import { Database } from "./database.ts";
import type { PostgresPool } from "./pool.ts";
import { PublishQueue } from "./publish-queue.ts";

/** A queue whose database is always away, and what it logs. */
function queueWithout() {
  const warnings: string[] = [];
  const logger = {
    ...silentLogger,
    warn: (_fields: object, message: string) => warnings.push(message),
  };
  const pool: PostgresPool = {
    connect: () => Promise.reject(new Error("away")),
    on: () => undefined,
    removeListener: () => undefined,
  };
  const ports = { clock: systemClock, timers: systemTimers, logger };
  const database = new Database({ ...ports, pool, random: () => 0, timeoutMs: 30 });
  const queue = new PublishQueue({ database, channel: "throughline", processId: "p", logger });
  return { queue, warnings };
}

test("of 10,500 messages that wait for a database that is away the last 500 are dropped", async () => {
  const { queue, warnings } = queueWithout();
  for (let n = 1; n <= 10_500; n++) queue.add(`{"n":${n}}`);
  const dropped = "too many messages wait to be sent: one was dropped";
  assert.deepEqual(warnings, new Array(500).fill(dropped));
  await queue.close();
});

test("of messages of 1 MiB no more than about 75 wait for a database that is away", async () => {
  const { queue, warnings } = queueWithout();
  const text = "x".repeat(1024 * 1024);
  for (let n = 1; n <= 80; n++) queue.add(text);
  assert.ok(warnings.length >= 4 && warnings.length <= 8, `${warnings.length} were dropped`);
  await queue.close();
});

test("closing waits for one failure of a database that is away, not for one of every message", async () => {
  const { queue, warnings } = queueWithout();
  for (let n = 1; n <= 2_000; n++) queue.add(`{"n":${n}}`);
  await queue.close();
  assert.deepEqual(warnings, ["messages could not be sent"]);
  queue.add("{}");
  await queue.close();
  assert.equal(warnings.length, 1);
});
