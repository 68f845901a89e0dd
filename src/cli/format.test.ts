import assert from "node:assert/strict";
import { test } from "node:test";
import { localTime, table } from "./format.ts";

test("a table's columns are as wide as their widest cell, and its lines end without spaces", () => {
  const text = table(
    ["A", "LONG", "B"],
    [
      ["first", "x", ""],
      ["y", "second", "z"],
    ],
  );
  assert.equal(text, "A      LONG    B\nfirst  x\ny      second  z\n");
});

test("no stored text brings a line break or an escape sequence into a table", () => {
  assert.equal(table(["A"], [["one\ntwo \u001b[31m\u202e"]]), "A\none two \u241b[31m\n");
});

for (const [timestamp, zone, text] of [
  ["2026-07-01T22:30:00.000Z", "Europe/Berlin", "2026-07-02 00:30"],
  ["2026-07-01T22:30:00.000Z", "UTC", "2026-07-01 22:30"],
  ["", "UTC", ""],
  ["never", "UTC", ""],
] as const) {
  test(`${JSON.stringify(timestamp)} is ${JSON.stringify(text)} in ${zone}`, () => {
    assert.equal(localTime(timestamp, zone), text);
  });
}
