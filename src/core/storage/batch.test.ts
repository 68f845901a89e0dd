import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { JsonObject } from "../json.ts";
import {
  checkList,
  erasedJson,
  isErased,
  listCursor,
  parseCursor,
  prepareBatch,
  prepareDocument,
  storedLine,
  storedRecord,
} from "./batch.ts";
import type { LogRecord } from "./log-store.ts";

// What is refused, and by which code, is proved for every driver by the contracts. Here: what they
// cannot see, the bytes.

/** Any text, lone surrogates too. */
const codeUnit = fc
  .oneof(fc.integer({ min: 0, max: 0x7f }), fc.integer({ min: 0, max: 0xffff }))
  .map((unit) => String.fromCharCode(unit));
const anyText = fc.string({ unit: codeUnit });

/** JSON that a store accepts: what fast-check makes, without -0 and whole numbers past 2^53. */
const values = fc
  .jsonValue({ maxDepth: 4, stringUnit: codeUnit })
  .map((value) => JSON.parse(JSON.stringify(value)) as unknown)
  .filter((value) => !/(?<!")-?\d{16,}|e\+/.test(JSON.stringify(value)));
const records = fc
  .tuple(fc.dictionary(anyText, values), fc.string({ minLength: 1 }), fc.boolean())
  .map(([fields, id, idFirst]): LogRecord => {
    const { seq: _, id: __, ...rest } = fields as JsonObject;
    return idFirst ? { id, ...rest } : { ...rest, id };
  })
  .filter((record) => !record.id.includes("\0"));

test("a stored line is the record with id first and seq second, and nothing else, for any record", () => {
  fc.assert(
    fc.property(records, fc.integer({ min: 1 }), (record, seq) => {
      const line = storedLine(JSON.stringify(record), seq);
      const start = `{"id":${JSON.stringify(record.id)},"seq":${seq}`;
      assert.equal(line.slice(0, start.length), start);
      assert.deepEqual(JSON.parse(line), { ...record, seq });
      assert.deepEqual(storedRecord(JSON.stringify(record), seq), { ...record, seq });
      assert.doesNotMatch(line, /[\n\r]/);
    }),
  );
});

const lines: readonly (readonly [json: string, line: string])[] = [
  ['{"id":"m1"}', '{"id":"m1","seq":7}'],
  ['{"id":"m1","b":1,"a":2}', '{"id":"m1","seq":7,"b":1,"a":2}'],
  ['{"b":1,"id":"m1","a":2}', '{"id":"m1","seq":7,"b":1,"a":2}'],
  ['{"1":1,"id":"m1"}', '{"id":"m1","seq":7,"1":1}'],
  [String.raw`{"id":"a\"b\\","x":1}`, String.raw`{"id":"a\"b\\","seq":7,"x":1}`],
  [String.raw`{"id":"\\\"","id2":"\""}`, String.raw`{"id":"\\\"","seq":7,"id2":"\""}`],
  ['{"a":"{\\"id\\":\\"x\\"}","id":"m1"}', '{"id":"m1","seq":7,"a":"{\\"id\\":\\"x\\"}"}'],
  ['{"a":1,"__proto__":{"b":1},"id":"m"}', '{"id":"m","seq":7,"a":1,"__proto__":{"b":1}}'],
  [String.raw`{"id":"m","t":"\ud800"}`, String.raw`{"id":"m","seq":7,"t":"\ud800"}`],
];

for (const [json, line] of lines) {
  test(`record 7 is stored as ${line} when it was given as ${json}`, () => {
    assert.equal(storedLine(json, 7), line);
  });
}

test("what is left of an erased record says so, with its seq or without; a record with more does not", () => {
  const json = erasedJson("m1");
  assert.equal(json, '{"id":"m1","_type":"metadata","kind":"erased"}');
  assert.equal(isErased(JSON.parse(json) as JsonObject), true);
  assert.equal(isErased(storedRecord(json, 3)), true);
  assert.equal(isErased({ ...storedRecord(json, 3), content: "still here" }), false);
  assert.equal(isErased({ id: "m1", _type: "metadata", kind: "session" }), false);
  assert.equal(isErased({ id: "m1", kind: "erased" }), false);
});

test("a message about a refused record names its place and never quotes it", () => {
  const secret = "what a person said";
  const bad = { id: "m2", content: secret, [secret]: Number.NaN } as LogRecord;
  const refusals = [
    () => prepareBatch("chat", [{ id: "m1" }, bad]),
    () => prepareBatch("chat", [{ id: secret.repeat(20) }]),
    () => prepareBatch("chat", [{ id: "m1", content: secret.repeat(100_000) }]),
    () => prepareBatch("chat", [{ id: "m1" }], { head: { seq: secret } }),
    () => prepareDocument("state", { [secret]: Number.NaN }),
  ];
  for (const refusal of refusals) {
    assert.throws(refusal, (error) => error instanceof Error && !error.message.includes(secret));
  }
  assert.throws(() => prepareBatch("chat", [{ id: "m1" }, bad]), /records\[1\]/);
});

test("a cursor stands for its place, for any instant and key", () => {
  fc.assert(
    fc.property(anyText, fc.string(), (sortedAt, key) => {
      assert.deepEqual(parseCursor(listCursor({ sortedAt, key })), { sortedAt, key });
      assert.match(listCursor({ sortedAt, key }), /^[\w-]+$/);
    }),
  );
});

const isInvalid = { code: "THROUGHLINE_INVALID" };

test("a text that no list answered is refused as a cursor, for any text and any changed cursor", () => {
  fc.assert(
    fc.property(anyText, (text) => {
      assert.throws(() => parseCursor(text), isInvalid);
      assert.throws(() => parseCursor(`${listCursor({ sortedAt: "a", key: "b" })}=`), isInvalid);
    }),
  );
});

test("a label that is no text is refused", () => {
  assert.throws(() => checkList({ limit: 1, label: 7 as never }), isInvalid);
});
