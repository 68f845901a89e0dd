import assert from "node:assert/strict";
import { test } from "node:test";
import { bytes, counted, localTime, table } from "./format.ts";

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

for (const [count, text] of [
  [0, "0 B"],
  [999, "999 B"],
  [1_000, "1.0 kB"],
  [123_456, "123 kB"],
  [3_400_000_000, "3.4 GB"],
  [5e15, "5000 TB"],
] as const) {
  test(`${count} bytes are ${text}`, () => assert.equal(bytes(count), text));
}

test("one is singular, everything else plural", () => {
  assert.deepEqual(
    [0, 1, 2].map((n) => counted(n, "message")),
    ["0 messages", "1 message", "2 messages"],
  );
});
