// What several processes of one companion do together, whatever the storage they share.
import assert from "node:assert/strict";
import { env } from "node:process";
import { test } from "node:test";
import { runsProjection } from "../src/companion/runs.ts";
import { extendWithCompanion } from "../src/companion/start-companion.ts";
import { answerId } from "../src/core/chat/record-ids.ts";
import { systemTimers, type Timers } from "../src/core/timers.ts";
import { openPostgresStorage } from "../src/postgres/postgres.ts";
import { seededRandom } from "../src/testing/random.ts";
import { awakeProcess } from "./support/awake.ts";
import {
  type ClusterPlace,
  memoryPlace,
  type Process,
  type ProcessOptions,
  process,
  until,
  watchedModel,
} from "./support/cluster-world.ts";
import { type ScriptedStep, scriptedResponder } from "./support/scripted-responder.ts";
import { eventsOf, jsonOf, problemOf } from "./support/server-fixture.ts";
import { noPostgres, withPostgres } from "./support/test-postgres.ts";

const isFull = env["THROUGHLINE_FULL"] === "1";
const reason = isFull ? noPostgres() : "THROUGHLINE_FULL=1 runs it";
if (reason !== undefined) test("several processes on PostgreSQL", { skip: reason });

/** The drivers that several processes may write. */
const places: readonly (readonly [name: string, open: () => Promise<ClusterPlace>])[] = [
  ["memory", memoryPlace],
  ...(reason === undefined ? ([["PostgreSQL", await databasePlaces()]] as const) : []),
];

/** Each place is a companion of its own in one database. */
async function databasePlaces(): Promise<() => Promise<ClusterPlace>> {
  const server = await withPostgres();
  const url = await server.newDatabase();
  let count = 0;
  return async () => {
    const companion = `companion-${++count}`;
    // The processes of all tests together: a server has 100 connections.
    const connections = { idleTimeoutMillis: 500 };
    const open = (timers: Timers = systemTimers) => {
      const pool = server.pool(url, connections);
      return openPostgresStorage({ pool, companion, durability: "process", timers });
    };
    return { open, end: async () => undefined };
  };
}

const chat = "chat-1";
const path = `/api/chats/${chat}`;

const contents = async ({ chats }: Process, id = chat) =>
  (await chats.messages(id, { limit: 1_000 })).messages.map(({ content }) => content);

/** A model that waits until it is let go on. */
function held(...words: string[]) {
  const gate = Promise.withResolvers<void>();
  const step: ScriptedStep = { type: "wait", until: gate.promise };
  const [first = "", ...rest] = words;
  return { model: scriptedResponder([[first, step, ...rest]]), open: () => gate.resolve() };
}

/** Starts one more process, which is ended after the test. */
type Join = (options?: ProcessOptions) => Promise<Process>;

for (const [name, openPlace] of places) {
  /** Runs the work with so many processes, and ends them all. */
  const together = (
    says: string,
    count: number,
    work: (join: Join, place: ClusterPlace) => Promise<void>,
  ) =>
    void test(`${name}, ${count} processes: ${says}`, { timeout: 120_000 }, async () => {
      const place = await openPlace();
      const joined: Process[] = [];
      const join: Join = async (options) => {
        const one = await process(await place.open(), options);
        joined.push(one);
        return one;
      };
      const alive = setInterval(() => undefined, 1_000); // timers of a storage keep no process alive
      try {
        await work(join, place);
        for (const each of joined) await end(each);
      } finally {
        clearInterval(alive);
        await place.end();
      }
    });

  const seeds = [
    [2, 1],
    [4, 3],
    [2, 2],
    [4, 4],
  ] as const;
  for (const [count, seed] of seeds.slice(0, isFull ? 4 : 2)) {
    together(
      `no two turns of a chat overlap, and each is answered once, seed ${seed}`,
      count,
      async (join) => {
        const random = seededRandom(seed);
        const { model, overlaps, said } = watchedModel(random);
        const processes: Process[] = [];
        for (let i = 0; i < count; i++) processes.push(await join({ model }));
        const turns = Array.from({ length: 40 }, (_, i) => {
          const at = processes[random(count)] as Process;
          const chatId = `chat-${random(4)}`;
          return {
            at,
            turn: at.turns.submit(chatId, { id: `m${i}`, content: `${chatId} says ${i}` }),
          };
        });
        const answers = await Promise.all(turns.map(({ turn }) => turn.done));
        assert.deepEqual(overlaps, []);
        assert.equal(new Set(said).size, 40);
        assert.equal(said.length, 40);
        for (const { assistant, user } of answers) {
          assert.equal(assistant?.content, `heard ${user.content}`);
        }
        // A turn is together in its chat, and the ones of one process are in the order of the calls.
        for (let n = 0; n < 4; n++) {
          const { messages } = await processes[0]!.chats.messages(`chat-${n}`, { limit: 200 });
          messages.forEach(({ role, turn }, i) => {
            if (role === "assistant") assert.equal(messages[i - 1]?.id, turn);
          });
          for (const each of processes) {
            const own = turns.flatMap(({ at, turn }) =>
              at === each && turn.chatId === `chat-${n}` ? [turn.id] : [],
            );
            assert.deepEqual(
              messages.flatMap(({ id }) => (own.includes(id) ? [id] : [])),
              own,
            );
          }
        }
      },
    );
  }

  together("the same message sent to both is one turn, answered alike", 2, async (join) => {
    const { model, open } = held("Hi ", "there");
    const [a, b] = [await join({ model }), await join()];
    const first = a.turns.submit(chat, { id: "m1", content: "Hello" });
    await until(() => model.requests.length === 1);
    const second = b.turns.submit(chat, { id: "m1", content: "Hello" });
    open();
    const [here, there] = [await first.done, await second.done];
    assert.equal(there.assistant?.id, here.assistant?.id);
    assert.equal(there.assistant?.content, "Hi there");
    assert.deepEqual(await contents(b), ["Hello", "Hi there"]);
    const other = b.turns.submit(chat, { id: "m1", content: "Something else" });
    await assert.rejects(other.done, { code: "THROUGHLINE_ID_CONFLICT" });
  });

  together(
    "a message that waits for another process is kept, and shown as waiting",
    2,
    async (join) => {
      const { model, open } = held("one");
      const b = await join({ model: scriptedResponder([["two"]]) });
      const a = await join({ model });
      const first = a.turns.submit(chat, { id: "m1", content: "1" });
      await until(() => model.requests.length === 1);
      const second = b.turns.submit(chat, { id: "m2", content: "2" });
      await until(async () => (await a.chats.existing(chat)).head.pending !== undefined);
      const shown = await jsonOf(await b.ask(path), 200);
      assert.deepEqual([shown.unanswered_ids, shown.running], [["m1", "m2"], true]);
      // Nothing there is left over: neither process can dismiss what the other will answer.
      assert.deepEqual(await jsonOf(await b.post(`${path}/dismiss`), 200), { dismissed: 0 });
      open();
      await Promise.all([first.done, second.done]);
      assert.deepEqual(await contents(a), ["1", "one", "2", "two"]);
      assert.equal((await jsonOf(await a.ask(path), 200)).running, false);
    },
  );

  together(
    "an answer is stopped from the other process, and what came is kept",
    2,
    async (join) => {
      const model = scriptedResponder([["Once ", { type: "hang" }]]);
      const [a, b] = [await join({ model }), await join()];
      const turn = a.turns.submit(chat, { content: "Tell me" });
      for await (const { type } of turn.progress()) if (type === "text") break;
      for (const [turn_id, stopped] of [
        ["another", false],
        [turn.id, true],
      ]) {
        assert.deepEqual(await jsonOf(await b.post(`${path}/stop`, { turn_id }), 200), { stopped });
      }
      assert.equal((await turn.done).outcome, "interrupted");
      assert.deepEqual(await contents(b), ["Tell me", "Once "]);
      await until(async () => !(await b.turns.stopAnywhere(chat)));
      assert.deepEqual(await jsonOf(await b.post(`${path}/stop`), 200), { stopped: false });
    },
  );

  together("an answer regenerated at both is made once", 2, async (join) => {
    const first = scriptedResponder([
      ["one"],
      [{ type: "wait", until: Promise.resolve() }, "better"],
    ]);
    const [a, b] = [await join({ model: first }), await join()];
    await a.turns.submit(chat, { id: "m1", content: "Hello" }).done;
    const here = await a.turns.retry(chat, { id: "r1" });
    const there = await b.turns.retry(chat, { id: "r1" });
    const answers = [await here.done, await there.done];
    assert.deepEqual(
      answers.map(({ assistant }) => assistant?.id),
      [answerId("m1", "r1"), answerId("m1", "r1")],
    );
    assert.equal(answers[1]?.assistant?.content, "better");
  });

  together("a chat is read as it is stored, whoever changed it", 2, async (join) => {
    const model = scriptedResponder([["Hi"], ["Again"]]);
    const [a, b] = [await join({ model }), await join({ model })];
    await a.turns.submit(chat, { content: "Hello" }).done;
    assert.equal((await a.chats.row(chat)).title, "Hello");
    await b.chats.rename(chat, "Named elsewhere");
    assert.equal((await a.chats.row(chat)).title, "Named elsewhere");
    await b.chats.forget(chat);
    await assert.rejects(a.chats.row(chat), { code: "THROUGHLINE_NOT_FOUND" });
    await problemOf(await a.ask(path), 404, "THROUGHLINE_NOT_FOUND");
    // Born again under the same id: nothing of the old one is in its head.
    await b.turns.submit(chat, { content: "Again" }).done;
    assert.equal((await a.chats.row(chat)).title, "Again");
  });

  together(
    "what was forgotten or reset in one process is in no working memory",
    2,
    async (join) => {
      const model = scriptedResponder([["Hi"], ["Hi"], ["Hi"]]);
      const [a, b] = [await join({ model }), await join()];
      for (const id of ["forgotten", "reset", "kept"]) {
        await a.turns.submit(id, { content: "a secret" }).done;
      }
      await b.chats.forget("forgotten");
      await b.sessions.reset("reset");
      const left = () => a.workingMemory.stats().map(({ chat_id }) => chat_id);
      await until(() => left().length === 1);
      assert.deepEqual(left(), ["kept"]);
    },
  );

  for (const where of ["the process of the turn", "the one that forgets"]) {
    together(
      `forgetting a chat ends its turn, and what waits for it in ${where}`,
      2,
      async (join) => {
        const model = scriptedResponder([["A secret ", { type: "hang" }]]);
        const [a, b] = [await join({ model }), await join()];
        const turn = a.turns.submit(chat, { content: "a secret" });
        for await (const { type } of turn.progress()) if (type === "text") break;
        const at = where === "the process of the turn" ? a : b;
        const waits = at.turns.submit(chat, { content: "another secret" });
        await until(async () => (await a.chats.existing(chat)).head.pending !== undefined);
        await jsonOf(await b.ask(path, { method: "DELETE" }), 200);
        await Promise.allSettled([turn.done, waits.done]);
        await until(() => a.turns.size === 0 && b.turns.size === 0);
        await until(() => a.workingMemory.stats().length === 0);
        assert.deepEqual((await a.chats.list()).chats, []);
      },
    );
  }

  together("watchers of every server hear of a turn once, in order", 4, async (join) => {
    const long = "x".repeat(20_000);
    const model = scriptedResponder([["Hi"], [long]]);
    const processes = [await join({ model })];
    for (let i = 0; i < 3; i++) processes.push(await join());
    const streams = await Promise.all(
      processes.map(async (each) => (await each.ask("/api/events")).body),
    );
    const [a] = processes;
    await a!.turns.submit(chat, { id: "m1", content: "Hello" }).done;
    await a!.turns.submit(chat, { id: "m2", content: "And more?" }).done;
    // What two servers tell has no order between them.
    await a!.post(`${path}/rename`, { title: "Done" });
    for (const body of streams) {
      const heard: string[] = [];
      for await (const { name, data } of eventsOf(body)) {
        if (name === ":") continue;
        heard.push(`${name} ${data.state ?? data.message?.content ?? data.change}`);
        if (data.change === "renamed") break;
      }
      assert.deepEqual(heard, [
        ...["turn running", "message Hello", "message Hi", "turn answered"],
        ...["turn running", "message And more?", `message ${long}`, "turn answered"],
        "session renamed",
      ]);
    }
  });

  together("a process that starts leaves alone what another one is writing", 2, async (join) => {
    const a = await join();
    const gate = Promise.withResolvers<void>();
    async function* messages() {
      for (let i = 0; i < 300; i++) yield { message: { role: "user" as const, content: `m${i}` } };
      await gate.promise;
      yield { message: { role: "user" as const, content: "the last" } };
    }
    const writing = a.chats.write(chat, messages(), {});
    await until(async () => (await a.chats.state(chat)).head?.unfinished === true);
    const b = await join();
    gate.resolve();
    await writing;
    assert.equal((await b.chats.row(chat)).message_count, 301);
  });

  together(
    "what one process erases while another copies its chat is in no copy",
    2,
    async (join) => {
      const [a, b] = [await join(), await join()];
      const messages = Array.from({ length: 600 }, (_, n) => {
        return { id: `m${n}`, role: "user" as const, content: `the secret ${n}` };
      });
      await a.chats.append(chat, messages);
      const copying = a.chats.fork(chat, "m599", "copy");
      while ((await b.chats.state("copy")).head === undefined); // in memory it is made without a pause
      await b.chats.erase(chat, "m0");
      await copying;
      const records = await Array.fromAsync(b.chats.records("copy"));
      assert.doesNotMatch(JSON.stringify([records, await b.chats.existing("copy")]), /secret 0\b/);
      assert.equal((await b.chats.row("copy")).message_count, 599);
    },
  );

  together(
    "a process that ends leaves the run to the others, and the last one ends it",
    2,
    async (_, place) => {
      const watching = await process(await place.open());
      const a = await awakeProcess(await place.open());
      const b = await awakeProcess(await place.open());
      const [first, second] = [a.run, b.run];
      assert.equal(second.runId, first.runId);
      second.personSeen("Ada");
      second.emotions.event("abuse");
      second.emotions.override("proud", 600);
      await until(() => first.person?.name === "Ada" && first.emotions.feeling().mood === "proud");
      assert.equal(first.emotions.feeling().wounds.length, 1);
      const sessionOf = async (at: Process) => {
        const { uptime: _, ...session } = (await (
          await at.ask("/api/session")
        ).json()) as object & {
          readonly uptime: number;
        };
        return session;
      };
      const session = await sessionOf(a);
      await end(a);
      const stored = async () =>
        (await watching.storage.documents("session").read("session"))?.value ?? {};
      assert.equal((await stored())["shutdown_clean"], false);
      const c = await awakeProcess(await place.open());
      assert.deepEqual([await sessionOf(b), await sessionOf(c)], [session, session]);
      await end(c);
      await b.turns.submit(chat, { content: "a secret" }).done;
      await second.save();
      await extendWithCompanion(watching.throughline); // no run of its own
      await watching.chats.forget(chat);
      assert.doesNotMatch(JSON.stringify(await stored()), /a secret|chat-1/);
      await end(b);
      assert.equal((await stored())["shutdown_clean"], true);
      const runs = await watching.storage.logs("", runsProjection).tail("runs", 10);
      assert.deepEqual(
        runs?.records.map(({ kind }) => kind),
        ["run_start", "run_end"],
      );
      await end(watching);
    },
  );

  together("processes that end at once end the run once", 4, async (_, place) => {
    const up = await Promise.all(Array.from({ length: 4 }, () => place.open().then(awakeProcess)));
    assert.equal(new Set(up.map(({ run }) => run.runId)).size, 1);
    await Promise.all(up.map(end));
    const storage = await place.open();
    const runs = await storage.logs("", runsProjection).tail("runs", 10);
    assert.deepEqual(
      runs?.records.map(({ kind }) => kind),
      ["run_start", "run_end"],
    );
    await storage.close();
  });
}

async function end(each: Process): Promise<void> {
  await each.turns.close(0);
  await each.server.close();
  await each.throughline.close();
}
