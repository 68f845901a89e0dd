import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32 } from "node:zlib";
import type { JsonObject } from "../../json.ts";
import { prepareDocument } from "../batch.ts";
import { decodeDocument, documentIndent, encodeDocument } from "./document-file.ts";

const values: readonly JsonObject[] = [
  {},
  { gone: undefined },
  { a: 1 },
  { a: {}, b: [], c: "}\n}", d: [{ e: [1, 2] }, null] },
  { b: "ä\u2028😀\ud800", 2: "two", 10: "ten", 1: "one" },
  JSON.parse('{"__proto__": {"constructor": 1}, "toString": true}'),
];
for (const [n, value] of values.entries()) {
  test(`a document's file is its JSON for people, the fields of ours last: value ${n}`, () => {
    const key = 'a "key"\n';
    const { json } = prepareDocument(key, value, {}, documentIndent);
    const bytes = encodeDocument(key, json, 7);
    const fields = { ...value, _key: key, _revision: 7 };
    const body = JSON.stringify(fields, undefined, 2).slice(0, -2);
    const _crc = crc32(body).toString(16).padStart(8, "0");
    assert.equal(String(bytes), `${JSON.stringify({ ...fields, _crc }, undefined, 2)}\n`);
    const stored = JSON.parse(JSON.stringify(value));
    assert.deepEqual(decodeDocument(bytes), { value: stored, revision: 7, key });
  });
}

const python = `{"a": NaN, "b": [Infinity, -Infinity, 1], "c": "NaN \\"-Infinity", "NaN": {"d": -NaN}}`;

test("numbers that only Python writes are null in a document of another program, and words in its texts stay", () => {
  assert.deepEqual(decodeDocument(Buffer.from(python)), {
    value: { a: null, b: [null, null, 1], c: 'NaN "-Infinity', NaN: { d: null } },
    revision: 0,
    key: undefined,
  });
});

const sealed = encodeDocument("k", '{\n  "a": 1\n}', 1);
const refused: readonly (readonly [what: string, bytes: Buffer])[] = [
  ["torn", Buffer.from(python.slice(0, -1))],
  ["torn in a text", Buffer.from(`{"a": NaN, "b": "${'\\"'.repeat(100_000)}`)],
  ["with other words", Buffer.from('{"a": xNaN, "b": Infinite}')],
  ["a list", Buffer.from("[NaN]")],
  ["no UTF-8", Buffer.from([0x7b, 0xff, 0x7d])],
  ["sealed, and damaged to NaN", Buffer.from(String(sealed).replace(": 1", ": NaN"))],
  ["sealed over NaN", encodeDocument("k", '{\n  "a": NaN\n}', 1)],
  ["with a key of ours and NaN", Buffer.from('{"a": NaN, "_key": "k"}')],
];
for (const [what, bytes] of refused) {
  test(`a document that is ${what} is no document`, () => {
    assert.equal(decodeDocument(bytes), undefined);
  });
}

test("a text of 12 MB is read through for such numbers, whole or torn", () => {
  const text = "x".repeat(12_000_000);
  const whole = Buffer.from(`{"a": "${text}", "b": NaN}`);
  assert.deepEqual(decodeDocument(whole)?.value, { a: text, b: null });
  assert.equal(decodeDocument(whole.subarray(0, -100)), undefined);
});
