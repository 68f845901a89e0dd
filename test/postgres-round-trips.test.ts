// How often a turn asks the database: on a network each time is a wait.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { openThroughline } from "../src/core/throughline.ts";
import { openPostgresStorage } from "../src/postgres/postgres.ts";
import { scriptedResponder } from "./support/scripted-responder.ts";
import { noPostgres, withPostgres } from "./support/test-postgres.ts";
import { WatchedPool } from "./support/watched-pool.ts";

const skip = noPostgres() ?? false;
const server = skip === false ? await withPostgres() : undefined;

const lease = "throughline_lease_take";
const beginning = ["throughline_append", "throughline_tail", "throughline_append"];

test("a turn asks the database 5 times, and where its message came with an id 6 times in a row", {
  skip,
}, async () => {
  const pool = new WatchedPool(server?.pool(await server.newDatabase()) ?? assert.fail());
  const storage = await openPostgresStorage({ pool, durability: "process" });
  await using throughline = await openThroughline({ storage });
  const model = scriptedResponder(["One", "Two", "Three"].map((text) => [text]));
  const turns = await throughline.turns({ model, persona: "" });
  const say = async (id?: string) => {
    pool.asked.length = 0;
    const { outcome } = await turns.submit("local:me", { id, content: "Hello" }).done;
    assert.equal(outcome, "answered");
    while (pool.asked.at(-1) !== "throughline_lease_free") await nextTurn();
    return pool.asked.map((name) => name.replace(/_\d+$/, ""));
  };
  await say(); // opens connections, and joins the others
  // The lease of a chat that does not exist yet says so.
  const { created_at } = await throughline.chats.row("local:me");
  assert.ok(Date.parse(created_at) > 0, created_at);
  assert.deepEqual(await say(), [lease, ...beginning, "throughline_lease_free"]);
  // Whether it is stored, or was forgotten: both at once.
  const known = ["throughline_records_known", "throughline_extent"];
  const withId = [lease, ...known, ...beginning, "throughline_lease_free"];
  assert.deepEqual(await say("of-the-caller"), withId);
  assert.equal(model.requests.at(-1)?.messages.length, 5);
});
