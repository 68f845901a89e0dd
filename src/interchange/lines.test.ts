// Bytes to lines, lines to objects, names to chats and back: the rules that files are read by.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { chatIdOfName, ExportNames } from "./file-names.ts";
import { readLine, splitLines } from "./lines.ts";

async function* chunks(bytes: Uint8Array, sizes: readonly number[]) {
  let at = 0;
  for (let n = 0; at < bytes.length; n++) {
    const size = sizes[n % sizes.length] ?? 1;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

test("lines give back every byte, however they came; of one that is too long its place is known", async () => {
  const byte = fc.oneof(fc.constant(0x0a), fc.constant(0x0d), fc.nat(255));
  const bytes = fc.array(byte, { maxLength: 60 });
  const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(bytes, sizes, fc.integer({ min: 1, max: 20 }), async (all, cut, max) => {
      const given = Buffer.from(all);
      const texts = given.toString("latin1").split("\n");
      if (texts.at(-1) === "") texts.pop();
      let offset = 0;
      const lines = await Array.fromAsync(splitLines(chunks(given, cut), max));
      for (const [index, line] of lines.entries()) {
        const { length } = texts[index] ?? "";
        const own = length > max ? undefined : given.subarray(offset, offset + length);
        assert.deepEqual(line, { number: index + 1, offset, length, bytes: own });
        offset += length + 1;
      }
      assert.equal(lines.length, texts.length);
    }),
    { numRuns: 80 },
  );
});

const message = '{"role":"user","content":"a } { b"}';
const read: readonly (readonly [what: string, line: string, becomes: string | undefined])[] = [
  ["an object", message, "an object"],
  ["an object with CR and a byte order mark", `\ufeff${message}\r`, "an object"],
  ["white space", " \t\r", undefined],
  ["NUL bytes", "\0\0", "NUL bytes"],
  ["an object after NUL bytes", `\0\0${message}\0`, "an object"],
  ["two objects glued", message + message, "it is not JSON"],
  ["a number", "42", "it is JSON, and not an object"],
  ["a torn object", message.slice(0, -2), "it is not JSON"],
  ["Python's NaN", '{"role":"user","content":"x","n":NaN}', "it is not JSON"],
  ["65 levels", `${'{"a":'.repeat(65)}1${"}".repeat(65)}`, "it is nested deeper than 64 levels"],
];
for (const [what, line, becomes] of read) {
  test(`a line of ${what} is read as ${becomes ?? "nothing"}`, () => {
    const found = readLine(Buffer.from(line));
    assert.equal(found && ("reason" in found ? found.reason : "an object"), becomes);
  });
}

const names: readonly (readonly [chatId: string, name: string | RegExp])[] = [
  ["telegram:42", "telegram_42.jsonl"],
  ["slack:C01_x", "slack_C01_x.jsonl"],
  ["matrix:!room:server", "matrix_!room_server.jsonl"],
  ["a_b", /^a_b~[0-9a-f]{8}\.jsonl$/],
  ["a:b/../c", /^a_b_\.\._c~[0-9a-f]{8}\.jsonl$/],
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
