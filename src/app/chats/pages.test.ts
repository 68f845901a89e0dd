// What pages at the servers of a database hear of what a command changes there.
import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type pg from "pg";
import { runCli, temporaryDirectory } from "../../../test/support/command-line.ts";
import { noPostgres, withPostgres } from "../../../test/support/test-postgres.ts";
import type { JsonObject } from "../../core/json.ts";
import { openThroughline } from "../../core/throughline.ts";
import { openPostgresStorage } from "../../postgres/postgres.ts";

const skip = noPostgres();
const server = skip === undefined ? await withPostgres() : undefined;
const url = (await server?.newDatabase()) ?? "";
let companions = 0;

/** The memories of a server that hears the others, in a database with the chat `a`; and no home. */
async function heard(t: TestContext) {
  const home = join(temporaryDirectory(t), "none");
  const companion = `c${++companions}`;
  const durability = "process";
  const storage = await openPostgresStorage({
    pool: server?.pool(url) as pg.Pool,
    companion,
    durability,
  });
  const events: JsonObject[] = [];
  storage.cluster.subscribe(({ about, name, event }) => {
    if (about === "event") events.push({ name: name ?? null, ...(event as JsonObject) });
  });
  const throughline = await openThroughline({ storage });
  t.after(() => throughline.close());
  await throughline.sessions.resolve("a", { provider: "offline", model: "offline" });
  await throughline.chats.append("a", [
    { id: "m1", role: "user", content: "Where is the lighthouse?" },
    { id: "m2", role: "assistant", content: "On the cliff." },
  ]);
  const store = `${url}?companion=${companion}&durability=${durability}`;
  const sessions = async (...args: string[]) => {
    const { code, err } = await runCli(["sessions", ...args, "--store", store], { home });
    assert.equal(code, 0, err);
  };
  const told = async (last: string) => {
    const isLast = () => events.some((event) => Object.values(event).includes(last));
    for (let tries = 0; tries < 100 && !isLast(); tries++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return events;
  };
  return { sessions, told, throughline };
}

test("what sessions changes on a database is told to the pages at its servers", {
  skip,
}, async (t) => {
  const { sessions, told } = await heard(t);
  const change = (chat_id: string, change: string) => ({ name: "session", chat_id, change });
  const erased = { name: "message", chat_id: "a", message_id: "m2", change: "erased" };
  for (const [line, ...events] of [
    ["fork a m1 b", change("b", "forked")],
    ["erase a m2", erased],
    ["reset a --all", change("a", "ended"), change("a", "reset")],
    ["clear a", change("a", "cleared")],
    ["forget a --yes", change("a", "forgotten")],
  ] as const) {
    await sessions(...line.split(" "));
    const all = await told(events.at(-1)?.change ?? "");
    assert.deepEqual(all.slice(-events.length), events, line);
  }
});

test("sessions answer on a database needs no home, and tells the answer to the pages at its servers", {
  skip,
}, async (t) => {
  const { sessions, told, throughline } = await heard(t);
  await throughline.chats.change("a", (transaction) => {
    transaction.message({ id: "m3", role: "user", content: "Are you there?" });
    transaction.set({ open_turn: { id: "m3", seq: transaction.seq, attempts: 1 } });
  });
  await sessions("answer", "a");
  const events = await told("answered");
  // A message is told by its id: a server with watchers reads it.
  const said = events.map(async ({ name, state, message }) => {
    if (state !== undefined) return [name, state];
    return [name, (await throughline.chats.find("a", String((message as JsonObject)["id"])))?.role];
  });
  assert.deepEqual(await Promise.all(said), [
    ["turn", "running"],
    ["message", "user"],
    ["message", "assistant"],
    ["turn", "answered"],
  ]);
});
