import assert from "node:assert/strict";
import { test } from "node:test";
import { ageNote } from "./age-note.ts";
import { resolveFreshness } from "./freshness-options.ts";
import { bucketOf, newSession, withBucket } from "./session-state.ts";

const start = Date.UTC(2026, 0, 2);
const hourMs = 3_600_000;
const begun = newSession({ generation: 1, at: start, startSeq: 0, provider: "p", model: "m" });
const afterMessages = (message_count: number) =>
  withBucket(begun, "p", { ...bucketOf(begun, "p"), message_count });

const rows: readonly [warning: number, age: number, count: number, said: string | undefined][] = [
  [12, 12, 10, "12 hours"],
  [12, 12 - 1 / hourMs, 10, undefined],
  [12, 13, 9, undefined],
  [12, 13, 11, undefined],
  [12, 13, 20, "13 hours"],
  [12, 13, 0, undefined],
  [12, 48 - 1 / hourMs, 10, "47 hours"],
  [12, 48, 10, "2 days"],
  [12, 71.9, 10, "2 days"],
  [12, 240, 100, "10 days"],
  [0, 240, 10, undefined],
  [1, 1, 10, "1 hour"],
  [0.5, 0.5, 10, "less than an hour"],
  [12, -13, 10, undefined],
  [12, Number.NaN, 10, undefined],
];
for (const [warning, age, count, said] of rows) {
  test(`a session of ${age} h with ${count} messages, warning from ${warning} h: ${said ?? "nothing"} is said`, () => {
    const rules = resolveFreshness({ sessionAgeWarningHours: warning });
    const note = ageNote(afterMessages(count), "p", start + age * hourMs, rules);
    const wanted =
      said && `This session is ${said} old. A reset begins a new one and keeps this one readable.`;
    assert.equal(note, wanted);
  });
}

test("only the provider that answered is counted", () => {
  const now = start + 20 * hourMs;
  assert.equal(ageNote(afterMessages(10), "other", now, resolveFreshness()), undefined);
  assert.ok(ageNote(afterMessages(10), "p", now, resolveFreshness()));
});

test("a session whose start cannot be read has no age", () => {
  const state = { ...afterMessages(10), started_at: "?" };
  assert.equal(ageNote(state, "p", start + 20 * hourMs, resolveFreshness()), undefined);
});
