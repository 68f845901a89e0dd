// Values of every kind and size come back equal.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  keepText,
  keepValue,
  keptLimits,
  keptText,
  keptValue,
  partGroups,
  partIds,
} from "./kept-value.ts";
import { type LogRecord, type LogStore, unlisted } from "./log-store.ts";
import { openMemoryStorage } from "./memory/memory-storage.ts";

const key = "local:me";
const isFull = process.env["THROUGHLINE_FULL"] === "1";

async function appendParts(to: LogStore, log: string, parts: readonly LogRecord[]) {
  for (const some of partGroups(parts)) await to.append(log, some);
}

async function throughStore(logs: LogStore, value: unknown, id = "v"): Promise<unknown> {
  const { fields, parts } = keepValue(id, value, "a value");
  await appendParts(logs, key, parts);
  await logs.append(key, [{ ...fields, id }]);
  const record = await logs.find(key, id);
  assert.ok(record);
  return keptValue(logs, key, record);
}

const inMemory = () => openMemoryStorage().logs("values", unlisted);

const deep = Array.from({ length: 1_000 }).reduce<unknown>((inner) => [inner], "end");
const values: Readonly<Record<string, unknown>> = {
  nothing: null,
  undefined,
  text: "a\u0000b \u2028 \ud83d lone",
  "minus zero": -0,
  "not a number": [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
  "a number past 2^53": 2 ** 60,
  "items that are undefined": [undefined, 1, undefined],
  bytes: { screenshot: new Uint8Array([0, 1, 254, 255]), none: new Uint8Array() },
  "an object with our mark": { "~": "NaN", inner: { "~": { "~": -0 } } },
  "a plain object with our mark": { "~": "object", value: { a: 1 } },
  "an own __proto__": JSON.parse('{"__proto__":{"a":1},"b":[null]}'),
  "20,000 keys": Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`k${i}`, i])),
  "1,000 levels": deep,
  "quotes beyond a part": { text: '"'.repeat(isFull ? 3_000_000 : 300_000) },
  "control characters in many parts": {
    text: "\u0001abcdefghi".repeat(isFull ? 2_000_000 : 40_000),
  },
  "300 kB of bytes": new Uint8Array(300_000).fill(7),
};

for (const [name, value] of Object.entries(values)) {
  test(`a kept value comes back equal: ${name}`, async () => {
    assert.deepStrictEqual(await throughStore(inMemory(), value), value);
  });
}

test("any value that can be kept comes back equal", async () => {
  const logs = inMemory();
  const extra = fc.constantFrom(undefined, -0, Number.NaN, new Uint8Array([1]), { "~": "x" });
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      fc.jsonValue(),
      extra,
      fc.array(tie("value")),
      fc.dictionary(fc.constantFrom("~", "a", "__proto__", "value"), tie("value")),
    ),
  }));
  let n = 0;
  await fc.assert(
    fc.asyncProperty(value, async (each) => {
      const back = await throughStore(logs, each, `v${n++}`);
      assert.deepEqual(structured(back), structured(each));
    }),
    { numRuns: isFull ? 300 : 30 },
  );
});

/** With what is no property of plain objects made visible, and what JSON leaves out left out. */
function structured(value: unknown): unknown {
  if (value instanceof Uint8Array) return ["bytes", ...value];
  if (Object.is(value, -0)) return "minus zero";
  if (Array.isArray(value)) return value.map(structured);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return ["object", ...entries.map(([name, item]) => [name, structured(item)])];
}

test("a small plain value is stored as it is, for people to read", () => {
  const { fields, parts } = keepValue("v", { said: "hello", n: [1] }, "a value");
  assert.deepEqual(fields, { value: { said: "hello", n: [1] } });
  assert.deepEqual(parts, []);
});

test("a crash between two parts leaves the old value, and storing again completes the new one", async () => {
  const logs = inMemory();
  await logs.append(key, [{ ...keepValue("old", "short", "a value").fields, id: "old" }]);
  const long = keepValue("new", "x".repeat(300_000) + "y".repeat(200_000), "a value");
  assert.ok(long.parts.length > 2);
  await appendParts(logs, key, long.parts.slice(0, 2));
  const old = await logs.find(key, "old");
  assert.equal(await keptValue(logs, key, old ?? {}), "short");
  const record = { ...long.fields, id: "new" };
  await assert.rejects(keptValue(logs, key, record), { code: "THROUGHLINE_CORRUPT" });
  await appendParts(logs, key, long.parts);
  await logs.append(key, [record]);
  const { seq } = (await logs.tail(key, 0)) ?? {};
  assert.equal(seq, 1 + long.parts.length + 1, "no part is stored twice");
  assert.equal(String(await keptValue(logs, key, record)).length, 500_000);
});

test("two records that keep the same long value share no part: one can be erased without the other", async () => {
  const long = "z".repeat(300_000);
  const [one, two] = [keepText("one", long, "a text"), keepText("two", long, "a text")];
  assert.equal(partIds(one.fields).length, 3);
  assert.ok(partIds(one.fields).every((id) => !partIds(two.fields).includes(id)));
});

test("what cannot be kept is refused, with its name and without its content", () => {
  const cycle: unknown[] = [];
  cycle.push(cycle);
  const refused: readonly (readonly [value: unknown, code: string])[] = [
    [{ at: new Date() }, "THROUGHLINE_INVALID"],
    [1n, "THROUGHLINE_INVALID"],
    [() => "secret", "THROUGHLINE_INVALID"],
    [Symbol("secret"), "THROUGHLINE_INVALID"],
    [new Map([["secret", 1]]), "THROUGHLINE_INVALID"],
    [cycle, "THROUGHLINE_TOO_LARGE"],
  ];
  for (const [value, code] of refused) {
    assert.throws(
      () => keepValue("v", value, "the entry"),
      (error: Error & { code: string }) => {
        assert.equal(error.code, code);
        assert.match(error.message, /the entry/);
        assert.doesNotMatch(error.message, /secret/);
        return true;
      },
    );
  }
});

test("a text is kept as it is, also a long one", async () => {
  const logs = inMemory();
  for (const text of ["", "short", "\ud83d\ude00".repeat(200_000)]) {
    const { fields, parts } = keepText(`t${text.length}`, text, "a text");
    await appendParts(logs, key, parts);
    const stored = await logs.findAll(key, partIds(fields));
    assert.equal(keptText(fields, stored), text);
  }
});

test("parts that differ in half a character only are different parts", async () => {
  const logs = inMemory();
  const { units } = keptLimits;
  const half = (high: string) => `${"a".repeat(units - 1)}${high}\ude00${"b".repeat(units - 1)}`;
  const text = half("\ud83d") + half("\ud83e");
  const { fields, parts } = keepText("t", text, "a text");
  await appendParts(logs, key, parts);
  assert.equal(keptText(fields, await logs.findAll(key, partIds(fields))), text);
});
