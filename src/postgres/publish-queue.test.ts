import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../core/clock.ts";
import { silentLogger } from "../core/logger.ts";
import { systemTimers } from "../core/timers.ts";
import { Database } from "./database.ts";
import type { PostgresPool } from "./pool.ts";
import { PublishQueue } from "./publish-queue.ts";

test("while the database is away 10,000 messages wait, and closing waits for one failure", async () => {
  const warnings: string[] = [];
  const warn = (_: object, message: string) => warnings.push(message);
  const ports = { clock: systemClock, timers: systemTimers, logger: { ...silentLogger, warn } };
  const pool: PostgresPool = {
    connect: () => Promise.reject(new Error("away")),
    on: () => undefined,
  };
  const database = new Database({ ...ports, pool, random: () => 0, timeoutMs: 30 });
  const queue = new PublishQueue({ ...ports, database, channel: "ours", processId: "p" });
  for (let n = 1; n <= 10_003; n++) queue.add(`{"n":${n}}`);
  await queue.close();
  const dropped = "too many messages wait to be sent: one was dropped";
  assert.deepEqual(warnings, [dropped, dropped, dropped, "messages could not be sent"]);
});
