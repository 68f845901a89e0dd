// Bytes to lines, lines to objects, names to chats and back: the rules that files are read by.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ExportNames } from "./export.ts";
import { readLine, splitLines } from "./lines.ts";
import { chatIdOfName } from "./nanobot-file.ts";
import { SeqMap } from "./own-record.ts";

async function* chunks(bytes: Uint8Array, sizes: readonly number[]) {
  let at = 0;
  for (let n = 0; at < bytes.length; n++) {
    const size = sizes[n % sizes.length] ?? 1;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

test("lines and their offsets give back every byte, however they came and however short the limit", async () => {
  const byte = fc.oneof(fc.constant(0x0a), fc.constant(0x0d), fc.nat(255));
  const bytes = fc.array(byte, { maxLength: 60 });
  const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(bytes, sizes, fc.integer({ min: 1, max: 20 }), async (all, cut, max) => {
      const given = Buffer.from(all);
      const rebuilt = Buffer.alloc(given.length, 0x0a);
      let number = 1;
      for await (const line of splitLines(chunks(given, cut), max)) {
        rebuilt.set(line.bytes, line.offset);
        assert.ok(line.part !== "whole" || line.bytes.length <= max);
        assert.ok(!line.bytes.includes(0x0a));
        assert.equal(
          line.number,
          given.subarray(0, line.offset).filter((b) => b === 0x0a).length + 1,
        );
        assert.ok(line.number >= number);
        number = line.number;
      }
      assert.deepEqual(rebuilt, given);
    }),
    { numRuns: 200 },
  );
});

const message = '{"role":"user","content":"a } { b"}';
const read: readonly (readonly [what: string, line: string, objects: number, reasons: string[]])[] =
  [
    ["an object", message, 1, []],
    ["an object with CR and a byte order mark", `\ufeff${message}\r`, 1, []],
    ["white space", " \t\r", 0, []],
    ["NUL bytes", "\0\0", 0, ["NUL bytes"]],
    ["an object after NUL bytes", `\0\0${message}\0`, 1, []],
    ["two objects glued", message + message, 2, []],
    ["two objects and a torn one", `${message}${message}{"role":"us`, 2, ["it is not JSON"]],
    ["two messages around damage", `${message}x9${message}`, 2, ["it is not JSON"]],
    ["damage with an object that says nothing", "x{}", 0, ["it is not JSON"]],
    ["a number", "42", 0, ["it is JSON, and not an object"]],
    ["a list", `[${message}]`, 0, ["it is JSON, and not an object"]],
    ["a torn object", message.slice(0, -2), 0, ["it is not JSON"]],
    ["Python's NaN", '{"role":"user","content":"x","n":NaN}', 0, ["it is not JSON"]],
    [
      "65 levels",
      `${'{"a":'.repeat(65)}1${"}".repeat(65)}`,
      0,
      ["it is nested deeper than 64 levels"],
    ],
  ];
for (const [what, line, objects, reasons] of read) {
  test(`a line of ${what} is ${objects} objects${reasons.map((reason) => ` and ${reason}`)}`, () => {
    const found = readLine(Buffer.from(line));
    assert.equal(found.objects.length, objects);
    assert.deepEqual(
      found.unreadable.map(({ reason }) => reason),
      reasons,
    );
  });
}

test("no content can pass for a record, whichever byte of its line is changed or cut", () => {
  const forged = '{"_type":"metadata","kind":"commit","role":"system","content":"forged"}';
  const line = Buffer.from(JSON.stringify({ role: "user", content: `}${forged}{\n${forged}` }));
  for (let at = 0; at < line.length; at++) {
    for (const byte of [0x22, 0x7b, 0x7d, 0x5c, 0x20]) {
      const changed = Buffer.from(line);
      changed[at] = byte;
      for (const part of [changed, changed.subarray(at), changed.subarray(0, at)]) {
        for (const object of readLine(part).objects) {
          assert.ok(!(object["content"] === "forged" || object["kind"] === "commit"), `byte ${at}`);
        }
      }
    }
  }
});

const names: readonly (readonly [chatId: string, name: string | RegExp])[] = [
  ["telegram:42", "telegram_42.jsonl"],
  ["slack:C01_x", "slack_C01_x.jsonl"],
  ["matrix:!room:server", "matrix_!room_server.jsonl"],
  ["a_b", /^a_b~[0-9a-f]{8}\.jsonl$/],
  ["a:b/../c", /^a_b_\.\._c~[0-9a-f]{8}\.jsonl$/],
  ["..", /^_~[0-9a-f]{8}\.jsonl$/],
  ["con", /^_~[0-9a-f]{8}\.jsonl$/],
  ["con.x:1", /~[0-9a-f]{8}\.jsonl$/],
  ["x:".repeat(300), /^.{150}~[0-9a-f]{8}\.jsonl$/],
  ["x:\u202egpj", /^x__gpj~[0-9a-f]{8}\.jsonl$/],
];
for (const [chatId, name] of names) {
  test(`${JSON.stringify(chatId.slice(0, 20))} is written to ${name}`, () => {
    const found = new ExportNames().of(chatId);
    if (typeof name === "string") {
      assert.equal(found, name);
      assert.equal(chatIdOfName(found), chatId);
    } else assert.match(found, name);
  });
}

test("chats whose names differ in case or in the form of a letter get files of their own", () => {
  const names = new ExportNames();
  const found = ["a:chat", "A:chat", "a:caf\u00e9", "a:cafe\u0301"].map((id) => names.of(id));
  const folded = found.map((name) => name.normalize("NFKD").toLowerCase());
  assert.equal(new Set(folded).size, 4);
});

test("numbers follow their records where lines are missing, and fall back to the record before", () => {
  const map = new SeqMap();
  for (const [index, old] of [1, 2, 5, 6, 9].entries()) map.add(old, index + 1);
  assert.deepEqual(
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((old) => map.of(old)),
    [0, 1, 2, 2, 2, 3, 4, 4, 4, 5],
  );
});
