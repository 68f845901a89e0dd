import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { collectionOf, fileNameOf, keyOfFileName, logName } from "./file-name.ts";

const numRuns = process.env["THROUGHLINE_FULL"] === "1" ? 20_000 : 200;

const rows: readonly (readonly [key: string, name: string])[] = [
  ["telegram:42", "telegram%3a42"],
  ["local_me-2", "local_me-2"],
  ["..", "%2e%2e"],
  ["a/b", "a%2fb"],
  ["a\\b", "a%5cb"],
  ["Chat", "%43hat"],
  ["chat", "chat"],
  ["a.", "a%2e"],
  ["a ", "a%20"],
  ["~", "%7e"],
  ["%2e", "%252e"],
  ["é", "%c3%a9"],
  ["e\u0301", "e%cc%81"],
  ["con", "%63on"],
  ["CON", "%43%4f%4e"],
  ["con.txt", "con%2etxt"],
  ["prn", "%70rn"],
  ["aux", "%61ux"],
  ["nul", "%6eul"],
  ["com0", "%63om0"],
  ["com9", "%63om9"],
  ["com10", "com10"],
  ["com¹", "com%c2%b9"],
  ["lpt1", "%6cpt1"],
  ["a".repeat(68), "a".repeat(68)],
  ["a".repeat(69), `${"a".repeat(27)}~ef5ed46eed2002191724db57b334457889c9ad4f`],
];
for (const [key, name] of rows) {
  test(`the file of the key ${JSON.stringify(key.slice(0, 20))} (${key.length}) is ${name}`, () => {
    assert.equal(fileNameOf(key), name);
  });
}

/** Chosen to collide wherever a rule is missing. */
const corpus = [
  ...["..", ".", "/", "\\", "a/b", "a\\b", "a:b", "a_b", " a:b", "a:b ", "a.", "a", "A", "aa"],
  ...["CON", "con", "Con", "%63on", "con.", "aux.txt", "COM1", "com1", "com¹", "COM¹", "lpt³"],
  ...["\u00e9", "e\u0301", "\u00c9", "E\u0301", "\u0130", "i\u0307", "i", "I", "\u0131"],
  ...["\u00df", "ss", "\u1e9e", "\ufb01", "fi", "\u212a", "K", "k", "\u212b", "\u00c5", "\u2126"],
  ...["\u03a9", "\u200fa", "a\u200f", "\u202ea", "__proto__", "~", "%7e"],
  ...["x".repeat(300), "X".repeat(300), "x".repeat(301), "é".repeat(150), "e\u0301".repeat(100)],
  ...["x".repeat(68), "x".repeat(69), "X".repeat(22), "X".repeat(23), "🙂", "🙂".repeat(250)],
];
const fold = (name: string) => name.toUpperCase().toLowerCase().normalize("NFC");

test(`${corpus.length} chosen keys have names that differ also without case and in NFC`, () => {
  assert.equal(new Set(corpus).size, corpus.length);
  assert.equal(new Set(corpus.map((key) => fold(fileNameOf(key)))).size, corpus.length);
});

const letter = fc.constantFrom(..."aAbBéÉıİ%~.:/_- 09\u017f\u212a", "e\u0301", "%61", "~f");
const anyKey = fc.oneof(
  fc.string({ unit: letter, minLength: 1, maxLength: 90 }),
  fc.string({ unit: "binary", minLength: 1, maxLength: 40 }),
  fc.constantFrom(...corpus),
);

test("pairs of different keys have names that differ without case and in NFC", () => {
  // The second key is either another one or a near miss of the first.
  const pair = anyKey.chain((key) =>
    fc.tuple(
      fc.constant(key),
      fc.oneof(
        anyKey,
        fc.constant(key.toUpperCase()),
        fc.constant(key.toLowerCase()),
        fc.constant(key.normalize("NFD")),
        fc.constant(fileNameOf(key)),
      ),
    ),
  );
  fc.assert(
    fc.property(pair, ([a, b]) => a === b || fold(fileNameOf(a)) !== fold(fileNameOf(b))),
    { numRuns },
  );
});

test("every name is plain ASCII and at most 100 bytes with the longest suffix in use", () => {
  const suffix = ".json.bak.tmp-0123456789abcdefgh";
  fc.assert(
    fc.property(anyKey, (key) => {
      assert.match(fileNameOf(key), /^[a-z0-9_%~-]+$/);
      assert.ok(Buffer.byteLength(fileNameOf(key) + suffix) <= 100);
    }),
    { numRuns },
  );
});

test("a name that spells its key out gives the key back, and a hashed one gives nothing", () => {
  fc.assert(
    fc.property(anyKey, (key) => {
      const name = fileNameOf(key);
      assert.equal(keyOfFileName(name), name.includes("~") ? undefined : key);
    }),
    { numRuns },
  );
});

test("the path of a log tells its collection", () => {
  const inAny = fc.property(anyKey, fc.constantFrom("", "chats", "a/b"), (key, collection) =>
    assert.equal(collectionOf(logName(collection, key)), collection),
  );
  fc.assert(inAny, { numRuns });
});

for (const name of ["", "%", "%zz", "%ff", "%61", "con", "%2E%2E", "a.b", "é", "Chat", "%61bc"]) {
  test(`no key has a file called ${JSON.stringify(name)}`, () => {
    assert.equal(keyOfFileName(name), undefined);
  });
}
