import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Place } from "../core/shape.ts";
import { Deliveries, deliveryLimits, storedDeliveries } from "./deliveries.ts";
import { type JudgedRestart, judgedAgain, type RestartKind } from "./restart.ts";

const noon = Date.UTC(2026, 2, 1, 12);
const reading = (ms: number) => ({ at: noon + ms, bootId: "a", uptimeMs: 1_000_000 + ms });

/** A restart at `ms`, after a gap of 5 s, unclean by default. */
function restart(totalRuns: number, ms: number, more: Partial<JudgedRestart> = {}) {
  const facts = { kind: "crash_recovery" as RestartKind, clean: false, totalRuns };
  const gap = { gapMs: 5_000, certainty: "certain" as const };
  return { ...facts, ...gap, before: reading(ms - 5_000), judgedAt: reading(ms), ...more };
}

/** What a kill and a boot leave of it: the JSON text that the document keeps. */
function rebooted(deliveries: Deliveries, next: JudgedRestart): Deliveries {
  const place = new Place();
  const text = JSON.stringify(storedDeliveries.write(deliveries.stored));
  const stored = storedDeliveries.read(JSON.parse(text), place);
  assert.deepEqual(place.problems, []);
  return Deliveries.begin(stored, next);
}

// C11, R6: an absence without a notice is not hidden by a crash right after it.
test("a long absence that a chat has not acknowledged stays one, over 40 crashes after it", () => {
  let deliveries = Deliveries.begin(undefined, restart(1, -400_000_000));
  deliveries.acknowledge("a");
  const absence = { gapMs: 300_000_000, before: reading(-300_000_000) };
  deliveries = rebooted(
    deliveries,
    restart(2, 0, { kind: "long_absence", clean: true, ...absence }),
  );
  for (let run = 3; run < 43; run++) {
    deliveries = rebooted(deliveries, restart(run, run * 1_000));
    const pending = deliveries.pending("a");
    assert.ok(pending);
    assert.deepEqual([pending.totalRuns, pending.clean], [run, false]);
    assert.equal(judgedAgain(pending, reading(run * 1_000)).kind, "long_absence");
  }
  assert.equal(deliveries.stored.restarts.length, deliveryLimits.restarts);
});

test("restarts in one notice are clean when all of them were", () => {
  let deliveries = Deliveries.begin(undefined, restart(1, 0));
  deliveries.acknowledge("a");
  deliveries = rebooted(deliveries, restart(2, 10_000, { clean: true }));
  deliveries = rebooted(deliveries, restart(3, 20_000, { clean: true }));
  assert.equal(deliveries.pending("a")?.clean, true);
  assert.equal(rebooted(deliveries, restart(4, 30_000)).pending("a")?.clean, false);
});

test("a chat that nothing is known of hears of the newest restart alone", () => {
  let deliveries = Deliveries.begin(undefined, restart(1, 0));
  deliveries.acknowledge("a");
  deliveries = rebooted(deliveries, restart(2, 10_000));
  deliveries = rebooted(deliveries, restart(3, 20_000));
  assert.deepEqual(deliveries.pending("new"), restart(3, 20_000));
});

test("a fresh start is no restart any more once another one follows it", () => {
  const fresh = restart(1, 0, { kind: "fresh_start", clean: true, gapMs: 0, before: undefined });
  const deliveries = Deliveries.begin(undefined, fresh);
  assert.equal(deliveries.pending("a")?.kind, "fresh_start");
  deliveries.acknowledge("a");
  const next = rebooted(deliveries, restart(2, 10_000));
  assert.equal(next.pending("a")?.kind, "crash_recovery");
});

test("1,000 chats are stored, the last to acknowledge; in its own run none of 5,000 gets a notice twice", () => {
  const deliveries = Deliveries.begin(undefined, restart(1, 0));
  for (let i = 0; i < 5_000; i++) deliveries.acknowledge(`chat-${i}`);
  for (let i = 0; i < 5_000; i++) assert.equal(deliveries.take(`chat-${i}`), undefined);
  const told = deliveries.stored.told;
  assert.deepEqual(
    [Object.keys(told).length, "chat-4999" in told, "chat-3999" in told],
    [1_000, true, false],
  );
});

test("past 100,000 chats in one run, the first to acknowledge is forgotten", () => {
  const deliveries = Deliveries.begin(undefined, restart(1, 0));
  for (let i = 0; i <= deliveryLimits.inRun; i++) deliveries.acknowledge(`chat-${i}`);
  assert.ok(deliveries.pending("chat-0"));
  assert.equal(deliveries.pending("chat-1"), undefined);
});

test("the ids that are stored take at most 64 KiB", () => {
  const deliveries = Deliveries.begin(undefined, restart(1, 0));
  for (let i = 0; i < 900; i++) deliveries.acknowledge(`${i}${"é".repeat(500)}`);
  const told = deliveries.stored.told;
  assert.ok(Buffer.byteLength(Object.keys(told).join("")) <= 65_536);
  assert.ok(Object.keys(told).length > 60);
});

test("chats of any name are kept apart, __proto__ and numbers too", () => {
  const names = ["__proto__", "constructor", "10", "2", "a/b", "A/b"];
  const first = Deliveries.begin(undefined, restart(1, 0));
  for (const name of names) first.acknowledge(name);
  const next = rebooted(rebooted(first, restart(2, 10_000)), restart(3, 20_000));
  for (const name of names) assert.deepEqual(next.pending(name)?.before, reading(5_000), name);
});

// The model: a list of the restarts that each chat has not acknowledged.
test("any history of boots and deliveries tells each chat of each restart once", () => {
  const step = fc.oneof(
    fc.constant({ do: "boot" as const, chat: "" }),
    fc.record({
      do: fc.constantFrom("deliver" as const, "fail" as const, "killed" as const),
      chat: fc.constantFrom("a", "b", "c"),
    }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      let run = 1;
      let deliveries = Deliveries.begin(undefined, restart(1, 0));
      const told = new Map<string, number>();
      for (const { do: action, chat } of steps) {
        if (action === "boot") {
          run++;
          deliveries = rebooted(deliveries, restart(run, run * 1_000));
          continue;
        }
        const pending = deliveries.take(chat);
        const last = told.get(chat);
        if (last === run) {
          assert.equal(pending, undefined);
          continue;
        }
        const first = (last ?? run - 1) + 1;
        const expected = {
          ...restart(first, first === 1 ? 0 : first * 1_000),
          totalRuns: run,
        };
        assert.deepEqual(pending, expected);
        if (action === "deliver") {
          deliveries.acknowledge(chat);
          told.set(chat, run);
        } else if (action === "fail") deliveries.fail(chat);
        else {
          run++;
          deliveries = rebooted(deliveries, restart(run, run * 1_000));
        }
      }
    }),
    { numRuns: 500 },
  );
});
