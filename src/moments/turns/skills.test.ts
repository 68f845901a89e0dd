import assert from "node:assert/strict";
import { test } from "node:test";
import { HeldClock } from "../../../test/support/held-clock.ts";
import { HeldTimers } from "../../../test/support/held-timers.ts";
import { invalid } from "../../core/errors.ts";
import { autoRecord } from "../record/auto-record.ts";
import type { MomentInput } from "../record/label.ts";
import { checkLabel } from "../record/label.ts";
import { Receipt } from "../record/receipt.ts";
import { rememberSkills } from "./skills.ts";

const state = { id: "0", name: "n", accepted: true, durable: false, uploaded: false };

function skills(receipt: Receipt) {
  const timers = new HeldTimers(new HeldClock());
  const inputs: MomentInput[] = [];
  const record = (input: MomentInput) => {
    inputs.push(input);
    checkLabel(input);
    return receipt;
  };
  const [positively, negatively] = rememberSkills(record, timers);
  return { timers, inputs, positively: positively!, negatively: negatively! };
}

test("a skill says Remembered. when the moment is durable within 1 s, and no longer waits", async () => {
  const receipt = new Receipt(state);
  const at = skills(receipt);
  const told = at.positively.handle({ what: "a joke" });
  receipt.update({ durable: true });
  assert.equal(await told, "Remembered.");
  assert.equal(at.timers.count, 0);
});

test("a skill says Noted, still saving. when nothing is known after 1 s", async () => {
  const at = skills(new Receipt(state));
  const told = at.positively.handle({ what: "a joke" });
  await at.timers.pass(1_000);
  assert.equal(await told, "Noted, still saving.");
});

test("a skill says why a moment is not recorded: a full disk, a refusal, wrong arguments", async () => {
  // F3
  const receipt = new Receipt(state);
  const full = skills(receipt);
  const told = full.positively.handle({ what: "a joke" });
  receipt.update({ reason: "disk_full" });
  assert.equal(await told, "Not recorded: disk_full.");
  const busy = skills(new Receipt({ ...state, accepted: false, reason: "busy" }));
  assert.equal(await busy.positively.handle({ what: "a joke" }), "Not recorded: busy.");
  for (const args of [{}, null, "x", { what: 3 }, { what: "" }]) {
    assert.match(await busy.positively.handle(args), /^Not recorded: what must /);
  }
});

test("recorded by rule: a pat is positive, words are negative, one of either in 30 s", () => {
  const clock = new HeldClock();
  const inputs: MomentInput[] = [];
  const react = autoRecord((input) => {
    checkLabel(input);
    inputs.push(input);
    return new Receipt(state);
  }, clock);
  assert.equal(react({ kind: "pat" }, " "), undefined);
  react({ kind: "pat" }, "a joke", "chat");
  clock.pass(29_999);
  assert.equal(react({ kind: "words", matched: ["stupid"] }, "a joke"), undefined);
  clock.pass(1);
  react({ kind: "words", matched: ["stupid"], messageId: "m" }, "x".repeat(3_000));
  assert.deepEqual(
    inputs.map(({ sentiment, source, matched }) => [sentiment, source, matched]),
    [
      ["positive", "auto", undefined],
      ["negative", "auto", ["stupid"]],
    ],
  );
  assert.equal(inputs[1]?.what.length, 2_000);
});

test("a failure that is nobody's input is not told to the model as one", async () => {
  const timers = new HeldTimers(new HeldClock());
  const broken = rememberSkills(() => assert.fail("a bug"), timers)[0]!;
  await assert.rejects(broken.handle({ what: "x" }), { message: "a bug" });
  const refusing = rememberSkills(() => {
    throw invalid("no");
  }, timers)[0]!;
  assert.equal(await refusing.handle({ what: "x" }), "Not recorded: no.");
});
