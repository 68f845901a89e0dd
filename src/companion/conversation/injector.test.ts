// What a client's model in this process is to hear: `companion.clients.deliver`.
import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { Machine } from "../../../test/support/kept-companion.ts";
import { SimulatedVoice } from "../../../test/support/simulated-voice.ts";
import { seededRandom } from "../../testing/random.ts";
import type { StreamState } from "./injector.ts";

async function start(t: TestContext, state: StreamState = "idle", machine = new Machine()) {
  const { throughline, companion } = await machine.run();
  const { clients } = companion;
  const stream = new SimulatedVoice(state);
  const isKnown = machine.storage.writes.length > 0;
  if (!isKnown) await clients.begin("nova");
  const stop = clients.deliver("nova", stream);
  t.after(() => throughline.close());
  const say = (...texts: string[]) =>
    Promise.all(texts.map((text) => clients.inject("nova", text)));
  const { timers, logged } = machine;
  const kept = () => clients.get("nova").injects.map(({ text }) => text);
  return { machine, throughline, clients, stream, stop, say, timers, kept, logged };
}

/** Everything that can go on has gone on. */
const settled = async () => {
  for (let i = 0; i < 10; i++) await setImmediate();
};

test("a text goes to a silent stream at once; those within 3.0 s go together, not before", async (t) => {
  const { stream, say, timers, kept, machine } = await start(t);
  await say("first");
  await say("a", "b", "c");
  machine.clock.set("2020-01-01T00:00:00.000Z"); // the throttle counts time, not the wall clock
  await timers.pass(2_999);
  assert.deepEqual(stream.takenTexts, ["first"]);
  await timers.pass(1);
  assert.deepEqual(stream.takenTexts, ["first", "a\n\nb\n\nc"]);
  assert.deepEqual(kept(), [], "they were acknowledged");
});

for (const state of ["inactive", "speaking"] as const) {
  test(`while the stream is ${state} a text waits, and says its age past 5 s`, async (t) => {
    const { stream, say, timers, kept } = await start(t, state);
    await say("old");
    await timers.pass(7_500);
    await say("new");
    assert.deepEqual([stream.calls.length, kept()], [0, ["old", "new"]]);
    stream.become("idle");
    await settled();
    assert.deepEqual(stream.takenTexts, ["[7 seconds ago] old\n\nnew"]);
  });
}

test("what was not acknowledged is sent again, after 30 s, and after a kill", async (t) => {
  const first = await start(t);
  first.stream.isPrompt = false;
  await first.say("dinner");
  await first.timers.pass(33_000);
  assert.equal(first.stream.calls.length, 2, "no answer for 30 s");
  const { ids } = first.stream.calls[0]!;
  const second = await start(t, "idle", first.machine);
  await settled();
  assert.deepEqual(second.stream.takenIds, ids, "the same id in the next process");
  assert.match(second.stream.takenTexts[0] ?? "", /^\[33 seconds ago\] dinner$/);
  const third = await start(t, "idle", first.machine);
  await third.timers.pass(60_000);
  assert.deepEqual(third.stream.calls, [], "once");
});

test("a call that was given up counts when it is acknowledged late", async (t) => {
  const { stream, say, timers, kept } = await start(t);
  stream.isPrompt = false;
  await say("dinner");
  await timers.pass(29_999);
  stream.become("inactive");
  await timers.pass(1);
  stream.acknowledge();
  await settled();
  assert.deepEqual(kept(), []);
});

test("a text that the model refuses is sent again with what came since, 3 s later, and kept", async (t) => {
  const { stream, say, timers, kept, logged } = await start(t);
  stream.isPrompt = false;
  await say("bad");
  await say("good");
  stream.refuse();
  await timers.pass(2_999);
  assert.deepEqual([stream.calls.length, kept()], [1, ["bad", "good"]]);
  await timers.pass(1);
  assert.equal(stream.calls.at(-1)?.text, "bad\n\ngood");
  assert.ok(logged.some((line) => /not heard/.test(line) && !/bad|good/.test(line)));
});

test("once it is stopped nothing is sent, and nobody is called back", async (t) => {
  const { stream, say, stop, timers, kept } = await start(t, "speaking");
  await say("dinner");
  stop();
  stream.become("idle");
  await timers.pass(60_000);
  assert.deepEqual([stream.calls.length, stream.listenerCount, kept()], [0, 0, ["dinner"]]);
});

test("whatever happens, every text comes once, in order, to a stream that remembers ids", async (t) => {
  const seed = randomInt(2 ** 31);
  t.diagnostic(`seed ${seed}`);
  const random = seededRandom(seed);
  for (let round = 0; round < 3; round++) {
    const { stream, say, timers } = await start(t);
    const said: string[] = [];
    for (let step = 0; step < 30; step++) {
      const what = random(6);
      stream.isPrompt = random(3) > 0;
      if (what < 2) said.push(`word ${step}`);
      if (what < 2) await say(`word ${step}`);
      else if (what === 2) stream.become((["idle", "speaking", "inactive"] as const)[random(3)]!);
      else if (what === 3) stream.refuse();
      else if (what === 4) stream.acknowledge();
      await timers.pass(random(4_000));
    }
    stream.isPrompt = true;
    stream.acknowledge();
    stream.become("idle");
    await timers.pass(70_000);
    const words = stream.takenTexts.flatMap((text) => text.match(/word \d+/g) ?? []);
    assert.deepEqual(words.length >= said.length && [...new Set(words)], said);
    assert.ok(stream.calls.every(({ state }) => state === "idle"));
    assert.equal(stream.takenIds.length, said.length);
  }
});

test("a text that the model acknowledged is not said again while that cannot be noted, and one behind it is said once", async (t) => {
  const { machine, stream, say, timers, kept } = await start(t, "speaking");
  await say("dinner is ready");
  machine.storage.fails = { documents: true };
  stream.become("idle");
  const pass = async () => {
    for (let i = 0; i < 5; i++) {
      await settled();
      if (stream.openCalls > 0) stream.acknowledge();
      await settled();
      await timers.pass(3_000);
    }
  };
  await pass();
  assert.deepEqual(kept(), ["dinner is ready"]);
  machine.storage.fails = {};
  await say("it gets cold");
  await pass();
  assert.deepEqual(kept(), []);
  const said = stream.calls.map(({ text }) => text.replace(/^\[.* ago\] /, ""));
  assert.deepEqual(said, ["dinner is ready", "it gets cold"]);
});
