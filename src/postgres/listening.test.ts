import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import { HeldClock } from "../../test/support/held-clock.ts";
import { HeldTimers } from "../../test/support/held-timers.ts";
import { silentLogger } from "../core/logger.ts";
import { Database } from "./database.ts";
import { Listening } from "./listening.ts";
import type { PostgresClient, PostgresPool, PostgresStatement } from "./pool.ts";

/** A connection to a server that is not there: it answers as the test says. */
class ScriptedClient extends EventEmitter implements PostgresClient {
  readonly asked: string[] = [];
  isReleased = false;
  /** What it rejects: the beginning of a statement; and with what. */
  refuses: string | undefined;
  refusal = new Error("refused");

  async query({ text }: PostgresStatement) {
    this.asked.push(text);
    if (this.refuses !== undefined && text.startsWith(this.refuses)) throw this.refusal;
    const rows = text.startsWith("select pg_is_in_recovery") ? [{ standby: false, pid: 1 }] : [];
    return { rows };
  }

  release() {
    this.isReleased = true;
  }
}

function listening() {
  const clock = new HeldClock();
  const timers = new HeldTimers(clock);
  const clients: ScriptedClient[] = [];
  const events: string[] = [];
  const state = {
    isAway: false,
    refuses: undefined as string | undefined,
    attempts: [] as number[],
  };
  const pool: PostgresPool = {
    async connect() {
      state.attempts.push(clock.monotonic());
      if (state.isAway) throw new Error("away");
      const client = new ScriptedClient();
      client.refuses = state.refuses;
      clients.push(client);
      return client;
    },
    on: () => undefined,
  };
  const ports = { clock, timers, logger: silentLogger };
  const database = new Database({ ...ports, pool, random: () => 0, timeoutMs: 1_000 });
  const listener = new Listening(
    { ...ports, database, channel: "ours" },
    {
      received: (payload) => events.push(payload),
      missed: () => events.push("missed"),
    },
  );
  return { clients, events, listener, state, timers };
}

test("a server that refuses to listen refuses the opening, and keeps no connection", async () => {
  const { clients, listener, state } = listening();
  state.refuses = "listen";
  await assert.rejects(listener.open());
  assert.equal(clients[0]?.isReleased, true);
});

test("what a connection of the application's pool hears on another channel is passed over", async () => {
  const { clients, events, listener } = listening();
  await listener.open();
  clients[0]?.emit("notification", { channel: "others", payload: "theirs" });
  clients[0]?.emit("notification", { channel: "ours", payload: "one" });
  assert.deepEqual(events, ["one"]);
  listener.close();
});

test("a lost connection is replaced at once, and what comes over the old one is passed over", async () => {
  const { clients, events, listener, timers } = listening();
  await listener.open();
  clients[0]?.emit("error", new Error("lost"));
  clients[0]?.emit("end");
  await timers.pass(0);
  clients[0]?.emit("notification", { channel: "ours", payload: "old" });
  clients[1]?.emit("notification", { channel: "ours", payload: "new" });
  assert.deepEqual(events, ["missed", "new"]);
  assert.deepEqual(
    [clients.length, clients[0]?.isReleased, clients[1]?.isReleased],
    [2, true, false],
  );
  listener.close();
});

test("while the database is away it is tried again after 50 ms to 2 s, ever less often", async () => {
  const { clients, events, listener, state, timers } = listening();
  await listener.open();
  state.isAway = true;
  clients[0]?.emit("end");
  await timers.pass(8_000);
  const pauses = state.attempts.slice(1).map((at, index, all) => at - (all[index - 1] ?? 0));
  assert.deepEqual(pauses, [0, 50, 100, 200, 400, 800, 1_600, 2_000, 2_000]);
  assert.deepEqual(events, []);
  state.isAway = false;
  await timers.pass(2_000);
  assert.deepEqual(events, ["missed"]);
  listener.close();
});

test("a connection that hears nothing is asked every 5 s, and replaced when it does not answer", async () => {
  const { clients, events, listener, timers } = listening();
  await listener.open();
  await timers.pass(15_000);
  const asked = clients[0]?.asked.filter((text) => text === "select 1");
  assert.deepEqual(asked, ["select 1", "select 1", "select 1"]);
  if (clients[0] !== undefined) clients[0].refuses = "select 1";
  await timers.pass(5_000);
  assert.deepEqual(events, ["missed"]);
  listener.close();
});

test("a connection whose server refused an answer once is asked on", async () => {
  const { clients, events, listener, timers } = listening();
  await listener.open();
  const [client] = clients as [ScriptedClient];
  const { refusal } = client;
  client.refuses = "select 1";
  client.refusal = Object.assign(new Error("canceled"), { code: "57014", severity: "ERROR" });
  await timers.pass(5_000);
  assert.deepEqual(events, []);
  client.refusal = refusal;
  await timers.pass(5_000);
  assert.deepEqual(events, ["missed"]);
  listener.close();
});

test("what is asked goes over the connection that listens, and over another one while that owes an answer", async () => {
  const { clients, listener } = listening();
  await listener.open();
  const asked = () =>
    clients.map((client) => client.asked.filter((text) => text === "beat").length);
  await listener.query({ text: "beat" });
  assert.deepEqual(asked(), [1]);
  await Promise.all([listener.query({ text: "beat" }), listener.query({ text: "beat" })]);
  assert.deepEqual(asked(), [2, 1]);
  listener.close();
  await listener.query({ text: "beat" });
  assert.deepEqual(asked(), [2, 1, 1]);
});

test("closing while the database is away ends the trying; while it comes back, the connection too", async () => {
  const away = listening();
  await away.listener.open();
  away.state.isAway = true;
  away.clients[0]?.emit("end");
  await away.timers.pass(100);
  away.listener.close();
  const { length } = away.state.attempts;
  await away.timers.pass(60_000);
  assert.equal(away.state.attempts.length, length);

  const back = listening();
  await back.listener.open();
  back.clients[0]?.emit("end");
  back.listener.close();
  await back.timers.pass(60_000);
  assert.deepEqual([back.clients.length, back.clients[1]?.isReleased, back.events], [2, true, []]);
});
