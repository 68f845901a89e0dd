import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Act, actRecord, type Happening, readAct } from "./acts.ts";
import { builtInEmotions } from "./emotion/built-in-emotions.ts";
import type { RestartReport } from "./restart.ts";

const reading = { at: 1_772_616_912_000, bootId: "boot-a", uptimeMs: 5_000 };
const when = { id: "a1", felt: 1_772_616_912_345, at: reading.at, reading };
const run = { runId: "0a63cda8", startedAt: { at: 1 }, totalRuns: 2 };
const report: RestartReport = {
  kind: "short_break",
  clean: true,
  totalRuns: 2,
  gapMs: 1,
  certainty: "clock",
  before: { at: 1 },
  judgedAt: { at: 2 },
  interrupted: [],
  quarantined: 0,
};

const happenings: readonly Happening[] = [
  { kind: "event", name: "insult", intensity: 2 },
  { kind: "heard", events: ["insult"] },
  { kind: "person" },
  { kind: "mood", mood: "proud", seconds: 10 },
  { kind: "reset" },
  { kind: "configured", configuration: builtInEmotions },
  { kind: "said", chat: "a", text: "hello" },
  { kind: "replied", chat: "a", text: "hello" },
  { kind: "seen", name: "Ada" },
  { kind: "sleep", state: "asleep" },
  {
    kind: "acknowledged",
    chat: "a",
    session: 2,
    notice: { chatId: "a", kind: "short_break", status: "delivered", text: "hi" },
  },
  { kind: "client", client: "robot", does: "inject", text: "t" },
  { kind: "appended", client: "robot", chat: "a" },
  { kind: "forgot", hash: "00" },
  { kind: "up", shared: { run, began: run, report }, configuration: builtInEmotions, state: {} },
  { kind: "interrupted", chat: "a", message: "m" },
  { kind: "end", next: "acts-2" },
];

/** What an act may do without. */
const optional = ["session", "notice", "state"];
const isOptional = ({ kind }: Happening, name: string) =>
  optional.includes(name) || (kind === "client" && name === "text");

for (const happening of happenings) {
  test(`an act of kind ${happening.kind} is read as it was, and not without one of its fields`, () => {
    const act = { ...happening, ...when } as Act;
    const record = actRecord(act);
    const read = readAct({ ...record, seq: 1 });
    assert.deepEqual(JSON.parse(JSON.stringify(read)), JSON.parse(JSON.stringify(act)));
    assert.equal(record["boot_id"], "boot-a");
    for (const name of Object.keys(record)) {
      if (["boot_id", "uptime_ms"].includes(name) || isOptional(happening, name)) continue;
      assert.equal(readAct({ ...record, [name]: undefined }), undefined, name);
      if (name !== "configuration") {
        assert.equal(readAct({ ...record, [name]: { of: "another kind" } }), undefined, name);
      }
    }
  });
}

test("a text of 10,001 characters is stored as its first 10,000, well formed", () => {
  const text = `${"x".repeat(9_999)}😀`;
  const stored = actRecord({ kind: "said", chat: "a", text, ...when })["text"];
  assert.ok(typeof stored === "string");
  assert.equal(stored.length, 10_000);
  assert.ok(stored.isWellFormed());
});

test("the interrupted turns of a report are in no act of the run: each belongs to a chat", () => {
  const interrupted = [{ chatId: "telegram:42", messageId: "m" }];
  const shared = { run, began: run, report: { ...report, interrupted } };
  const record = actRecord({ kind: "up", shared, configuration: undefined, ...when });
  assert.doesNotMatch(JSON.stringify(record), /telegram/);
});

test("a configuration that its schema cannot say is stored as none", () => {
  const same = { kind: "compare", what: "joy", comparator: ">=", value: 0.5 } as const;
  const moodRules = [{ mood: "happy", conditions: [same, { ...same, comparator: "<" }] }] as const;
  const configuration = { ...builtInEmotions, moodRules };
  const record = actRecord({ kind: "configured", configuration, ...when });
  assert.equal(record["configuration"], null);
});

test("whatever else a log holds is no act", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (record) => {
      assert.equal(readAct(record as never), undefined);
    }),
  );
});
