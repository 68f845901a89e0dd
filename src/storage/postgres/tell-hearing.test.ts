import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../clock.ts";
import { silentLogger } from "../../logger.ts";
import { systemTimers } from "../../timers.ts";
import { Database } from "./database.ts";
import type { PostgresPool } from "./pool.ts";
import { Hearing } from "./tell-hearing.ts";
import { freedPayload, keptPayload, toldPayload } from "./tell-payload.ts";

/** A database that is always away. */
const away: PostgresPool = {
  connect: () => Promise.reject(new Error("away")),
  on: () => undefined,
  removeListener: () => undefined,
};

function hearing() {
  const events: unknown[] = [];
  const { promise: done, resolve } = Promise.withResolvers<void>();
  const ports = { clock: systemClock, timers: systemTimers, logger: silentLogger };
  const database = new Database({ ...ports, pool: away, random: () => 0, timeoutMs: 30 });
  const heard = new Hearing({
    database,
    companion: "default",
    processId: "own",
    logger: silentLogger,
    told(text, from) {
      events.push([from, text]);
      resolve();
    },
    freed: ({ key }) => events.push(key),
    gap: () => events.push("gap"),
  });
  const hear = (from: string, n: number) => heard.hear(toldPayload(from, n, `{"n":${n}}`));
  return { events, done, heard, hear };
}

test("a message that was sent twice is heard once, in its place", () => {
  const { events, hear } = hearing();
  for (const n of [1, 2, 1, 2, 3]) hear("p", n);
  assert.deepEqual(events, [
    ["p", '{"n":1}'],
    ["p", '{"n":2}'],
    ["p", '{"n":3}'],
  ]);
});

test("a number that was left out is a gap before the next message", () => {
  const { events, hear } = hearing();
  for (const n of [1, 3]) hear("p", n);
  assert.deepEqual(events, [["p", '{"n":1}'], "gap", ["p", '{"n":3}']]);
});

test("the first message of a process is no gap, whatever its number; each process counts for itself", () => {
  const { events, hear } = hearing();
  hear("p", 5);
  hear("q", 1);
  hear("p", 6);
  assert.deepEqual(events, [
    ["p", '{"n":5}'],
    ["q", '{"n":1}'],
    ["p", '{"n":6}'],
  ]);
});

test("a process hears no message of its own, but what it frees", () => {
  const { events, heard, hear } = hearing();
  hear("own", 1);
  heard.hear(freedPayload("own", { collection: "chats", key: "a" }));
  assert.deepEqual(events, ["a"]);
});

test("a long message that cannot be read is a gap, and what was heard after it comes after it", async () => {
  const { events, done, heard, hear } = hearing();
  heard.hear(keptPayload("p", 1, "gone"));
  hear("p", 2);
  assert.deepEqual(events, []);
  await done;
  assert.deepEqual(events, ["gap", ["p", '{"n":2}']]);
});

test("the numbers of the 1,000 processes heard last are known", () => {
  const { events, hear } = hearing();
  hear("first", 1);
  for (let index = 0; index < 1_000; index++) hear(`p${index}`, 1);
  hear("first", 3); // forgotten: no gap is told
  hear("p999", 3);
  assert.equal(events.filter((event) => event === "gap").length, 1);
});

test("nothing is passed on after closing, also what was being read", async () => {
  const { events, heard, hear } = hearing();
  heard.hear(keptPayload("p", 1, "gone"));
  await heard.close();
  hear("p", 2);
  assert.deepEqual(events, []);
});
