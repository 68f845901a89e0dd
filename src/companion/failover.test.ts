// A process that takes the lead: by a clock that the test holds.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { awakeProcess } from "../../test/support/awake.ts";
import { heldPlace, mortal, pass, soon, until } from "../../test/support/cluster-world.ts";
import { ThroughlineError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import type { Storage } from "../core/storage/storage.ts";
import { ActLog } from "./act-log.ts";
import type { Act } from "./acts.ts";
import { runsProjection } from "./runs.ts";

/** A storage at whose next writes of a document something comes first, one thing for each. */
function hindered(storage: ReturnType<typeof mortal>) {
  const before: (() => Promise<void>)[] = [];
  const documents: Storage["documents"] = (collection) => {
    const inner = storage.documents(collection);
    return new Proxy(inner, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        if (name !== "write") return value.bind(target);
        return async (...args: unknown[]) => {
          await before.shift()?.();
          return Reflect.apply(value, target, args);
        };
      },
    });
  };
  return { ...storage, documents, before };
}

const fail = async () => {
  throw new ThroughlineError("away", { code: "THROUGHLINE_UNAVAILABLE" });
};

function world(t: TestContext) {
  const place = heldPlace();
  const { clock } = place;
  let pid = 0;
  const start = async () => {
    const { storage, timers } = place.open();
    const own = hindered(mortal(storage));
    const awake = { pid: ++pid };
    const begun = await awakeProcess(own, { clock, awake, timers: soon });
    t.after(() => own.kill());
    return { ...begun, companion: begun.run, storage: own, timers, ...awake };
  };
  const store = place.open().storage;
  const runs = async () => {
    const tail = await store.logs("", runsProjection).tail("runs", 100);
    const kinds = tail?.records.map(({ kind, handover }) =>
      handover === true ? `${kind} handover` : kind,
    );
    return {
      kinds,
      total: tail?.head["total_sessions"],
      ids: tail?.records.map((r) => r["run_id"]),
      began: tail?.records.map((r) => r["began"]),
      pid: tail?.records.at(-1)?.["pid"],
    };
  };
  const document = async (): Promise<JsonObject> =>
    (await store.documents("session").read("session"))?.value ?? {};
  /** Waits until the state of this process is stored under a run of its own. */
  const leads = (leader: Awaited<ReturnType<typeof start>>) =>
    until(async () => {
      const { session_id: id } = await document();
      const { ids, kinds, pid: owner } = await runs();
      const isTaken = kinds?.at(-1) === "run_start handover" && ids?.at(-1) === id;
      return isTaken && owner === leader.pid;
    });
  return { ...place, start, runs, document, leads };
}

const wound = (each: { readonly companion: { readonly emotions: { feeling(): object } } }) =>
  (each.companion.emotions.feeling() as { wounds: readonly unknown[] }).wounds.length;

test("a process that missed notifications and takes over has it all: words, feelings, wounds, person and sleep", async (t) => {
  const w = world(t);
  const [a, b] = [await w.start(), await w.start()];
  b.storage.deafen(true);
  a.companion.personSaid("chat-1", "The door is blue");
  a.companion.personSeen("Ada");
  a.companion.emotions.event("abuse");
  a.companion.sleep("asleep");
  await a.companion.save();
  assert.deepEqual([wound(a), wound(b), b.companion.person], [1, 0, undefined]);
  const felt = a.companion.emotions.feeling().levels;
  a.storage.kill();
  b.storage.deafen(false);
  b.storage.gap();
  await pass(w.clock, 10_500, b.timers);
  await w.leads(b);
  const {
    conversation,
    last_person_seen: person,
    sleep_state: sleep,
    emotions,
  } = await w.document();
  assert.match(JSON.stringify(conversation), /The door is blue/);
  assert.deepEqual([person, sleep, wound(b)], ["Ada", "asleep", 1]);
  assert.equal((emotions as { wounds: unknown[] }).wounds.length, 1);
  assert.ok(b.companion.emotions.feeling().levels.sadness > 0.5 * felt.sadness);
});

test("whichever process leads, all have the run of its boot: its id, its start, its report", async (t) => {
  const w = world(t);
  const runOf = ({ companion }: Awaited<ReturnType<typeof w.start>>) => {
    const { runId, startedAt, uptimeMs, report } = companion;
    return { runId, startedAt, uptimeMs, report: JSON.parse(JSON.stringify(report)) };
  };
  const a = await w.start();
  const startedAt = w.clock.now();
  const { runId, report } = runOf(a);
  w.clock.pass(3_000);
  const b = await w.start();
  assert.deepEqual(runOf(b), { runId, startedAt, uptimeMs: 3_000, report });
  await a.throughline.close();
  await w.leads(b);
  w.clock.pass(2_000);
  const c = await w.start();
  const up = { runId, startedAt, uptimeMs: 5_000, report };
  assert.deepEqual([runOf(b), runOf(c)], [up, up]);
  await b.throughline.close();
  await w.leads(c);
  const d = await w.start();
  assert.deepEqual([runOf(c), runOf(d)], [up, up]);
  const { kinds, began } = await w.runs();
  const failovers = began?.filter((_, index) => kinds?.[index] === "run_start handover");
  assert.deepEqual(failovers, [runId, runId]);
});

test("the run before a restart is the one that had come up, whichever process led at its end", async (t) => {
  const w = world(t);
  const a = await w.start();
  const b = await w.start();
  const { runId } = a.companion;
  await a.throughline.close();
  await w.leads(b);
  await b.throughline.close();
  const c = await w.start();
  assert.equal(c.companion.report.previousRunId, runId);
  assert.notEqual(c.companion.runId, runId);
});

for (const acts of [1, 1_000]) {
  test(`a process that slept while the companion ended and came up again, and did ${acts} acts, has the new run`, async (t) => {
    const w = world(t);
    const a = await w.start();
    const sleeper = await w.start();
    const { runId, notices } = sleeper.companion;
    const early = await notices.begin("chat-2", undefined, 1);
    sleeper.storage.deafen(true);
    await a.companion.save();
    a.storage.kill();
    w.clock.pass(20_000);
    const c = await w.start();
    assert.notEqual(c.companion.runId, runId);
    for (let n = 0; n < acts; n++) c.companion.emotions.personActed();
    await c.companion.save();
    await c.companion.save(); // the log that the sleeper read is removed
    sleeper.storage.deafen(false);
    w.clock.pass(1_000);
    sleeper.storage.gap();
    await until(() => sleeper.companion.runId === c.companion.runId);
    const { startedAt, uptimeMs, report } = sleeper.companion;
    assert.deepEqual(
      [startedAt, uptimeMs, report.kind],
      [c.companion.startedAt, 1_000, "crash_recovery"],
    );
    notices.delivered("chat-2", early!);
    for (const chatId of ["chat-1", "chat-2"]) {
      const notice = await notices.begin(chatId, 1, 1);
      assert.equal(notice?.run, c.companion.report.totalRuns, chatId);
    }
  });
}

for (const times of [1, 3]) {
  test(`a takeover that fails ${times} times before it is stored counts as one run`, async (t) => {
    const w = world(t);
    const [a, b] = [await w.start(), await w.start()];
    await a.companion.save();
    for (let n = 0; n < times; n++) b.storage.before.push(fail);
    await a.throughline.close();
    await until(() => b.storage.before.length === 0);
    await w.leads(b);
    const { kinds, total } = await w.runs();
    assert.deepEqual(kinds, ["run_start", "run_end", "run_start handover"]);
    assert.equal(total, 2);
    assert.equal((await w.document())["total_sessions"], 2);
  });
}

test("a takeover that failed is another run once another process led in between", async (t) => {
  const w = world(t);
  const [a, b] = [await w.start(), await w.start()];
  await a.companion.save();
  b.storage.before.push(fail);
  const c = await w.start();
  await a.throughline.close();
  await w.leads(c);
  await c.throughline.close();
  await w.leads(b);
  const { ids = [], kinds, total } = await w.runs();
  const starts = ids.filter((_, index) => String(kinds?.[index]).startsWith("run_start"));
  assert.equal(new Set(starts).size, starts.length);
  assert.equal(total, starts.length);
  assert.equal((await w.document())["total_sessions"], total);
});

test("a process that ends while it takes over has ended in order", async (t) => {
  const w = world(t);
  const [a, b] = [await w.start(), await w.start()];
  await a.companion.save();
  let closing: Promise<void> | undefined;
  b.storage.before.push(async () => {
    closing = b.throughline.close();
  });
  await a.throughline.close();
  await until(() => closing !== undefined);
  await closing;
  assert.equal((await w.runs()).kinds?.at(-1), "run_end");
  assert.equal((await w.document())["shutdown_clean"], true);
});

test("what another process felt while the companion came up is felt", async (t) => {
  const w = world(t);
  const a = await w.start();
  await a.throughline.close();
  const own = mortal(w.open().storage);
  const others = (await ActLog.open(w.open().storage.logs("", runsProjection), undefined))!;
  await others.readOn();
  const at = w.clock.now();
  const when = { felt: at, at, reading: { at } };
  const late: Act[] = [
    { kind: "said", chat: "chat-1", text: "The door is blue", id: "late-1", ...when },
    { kind: "event", name: "abuse", intensity: 1, id: "late-2", ...when },
  ];
  const logs: Storage["logs"] = (collection, projection) => {
    const inner = own.logs(collection, projection);
    const append: typeof inner.append = async (key, ...args) => {
      if (key === "acts-1" && late.length > 0) await others.append(late.splice(0));
      return inner.append(key, ...args);
    };
    return new Proxy(inner, {
      get: (target, name) => (name === "append" ? append : Reflect.get(target, name).bind(target)),
    });
  };
  const c = await awakeProcess({ ...own, logs }, { clock: w.clock, timers: soon });
  await c.run.save();
  assert.match(JSON.stringify(await w.document()), /The door is blue/);
  assert.equal(wound({ companion: c.run }), 1);
  await c.throughline.close();
});
