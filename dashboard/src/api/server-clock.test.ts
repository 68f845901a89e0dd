import assert from "node:assert/strict";
import { test } from "node:test";
import { aheadOf, learnTime, serverNow } from "./server-clock.ts";

const date = Date.parse("2026-11-23T10:00:00Z");
const hours = 3_600_000;

for (const [says, known, sentAt, heardAt, ahead] of [
  ["that agrees with this clock", 0, date + 300, date + 320, 0],
  ["to a browser two hours ahead", 0, date + 2 * hours, date + 2 * hours + 20, 999 - 2 * hours],
  ["to a browser two hours behind", 0, date - 2 * hours, date - 2 * hours + 20, 999 + 2 * hours],
  ["that bounds it more closely", 999 + hours, date - hours + 1, date - hours + 21, 998 + hours],
  ["that took long and allows what is known", 700, date - 5_000, date + 5_000, 700],
] as const) {
  test(`an answer ${says} tells that the server is ${ahead} ms ahead`, () => {
    assert.equal(aheadOf(known, date, sentAt, heardAt), ahead);
  });
}

test("an answer without a date teaches nothing", () => {
  assert.equal(aheadOf(5, Number.NaN, date, date), 5);
});

test("the server's time is told by its answers, wherever this machine's clock stands", (t) => {
  t.mock.timers.enable({ apis: ["Date"], now: date + 2 * hours });
  const answered = (at: number) =>
    new Response("", { headers: { date: new Date(at).toUTCString() } });
  learnTime(answered(date), Date.now());
  assert.equal(serverNow(), date + 999);
  learnTime(answered(date + 2 * hours), Date.now());
  assert.ok(serverNow() - Date.now() < 1_000); // the next test finds no two hours
});
