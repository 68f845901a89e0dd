import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { JsonObject } from "../json.ts";
import type { StoredRecord } from "../storage/log-store.ts";
import { toFullJsonl, toSeedJsonl } from "./render-jsonl.ts";

const key = "telegram:42";
const head: Parameters<typeof toSeedJsonl>[1] = {
  created_at: "2026-03-03T10:00:00.000Z",
  updated_at: "2026-03-04T10:00:00.000Z",
  metadata: { mood: "glad" },
  last_consolidated: 0,
};

/** Where no message refers to a file that is there. */
const noFiles = { get: async () => undefined };

function log(...fields: readonly JsonObject[]): readonly StoredRecord[] {
  return fields.map((field, index) => ({ id: `m${index + 1}`, ...field, seq: index + 1 }));
}

const forms = { seed: toSeedJsonl, full: toFullJsonl } as const;

async function linesOf(
  records: readonly StoredRecord[],
  form: keyof typeof forms = "seed",
  of = head,
): Promise<string[]> {
  return await Array.fromAsync(forms[form](key, of, records, noFiles));
}

/** The seed's reader, in its own terms: the last metadata line wins, all other objects are messages. */
function readSeed(text: string): { metadata: JsonObject; messages: readonly JsonObject[] } {
  let metadata: JsonObject = {};
  const messages: JsonObject[] = [];
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const object = JSON.parse(line) as JsonObject;
    if (object["_type"] === "metadata") metadata = object;
    else messages.push(object);
  }
  return { metadata, messages };
}

const timestamp = "2026-03-03T10:00:00.000Z";
const user = (content: string, more: JsonObject = {}) => ({
  role: "user",
  content,
  timestamp,
  ...more,
});

test("a chat is written as the seed writes it: metadata line, then messages in its order of keys", async () => {
  const records = log(user("Hi"), { role: "assistant", timestamp, content: "Ho", tools_used: [] });
  assert.deepEqual(await linesOf(records), [
    `{"_type":"metadata","key":"telegram:42","created_at":"2026-03-03T10:00:00.000Z","updated_at":"2026-03-04T10:00:00.000Z","metadata":{"mood":"glad"},"last_consolidated":0}\n`,
    `{"role":"user","content":"Hi","timestamp":"${timestamp}","id":"m1","seq":1}\n`,
    `{"role":"assistant","content":"Ho","timestamp":"${timestamp}","id":"m2","tools_used":[],"seq":2}\n`,
  ]);
});

test("the result of a call that was erased is not written in the seed form", async () => {
  const result = { id: "t:result:1", role: "tool", content: "found", timestamp, turn: "t" };
  const erased = { id: "t:call:1", _type: "metadata", kind: "erased" };
  const imported = { ...result, id: "m9", tool_call_id: "c9" };
  const records = log(user("1"), erased, { ...result, tool_call_id: "c1" }, imported);
  const { messages } = readSeed((await linesOf(records)).join(""));
  assert.equal(messages.map(({ id }) => id).join(), "m1,m9");
  assert.match((await linesOf(records, "full")).join(""), /t:result:1/);
});

test("the seed form holds messages only: no control record, foreign record or hidden message", async () => {
  const records = log(
    user("1"),
    { _type: "metadata", kind: "usage", role: "user", content: "x" },
    { note: "foreign" },
    user("/new", { hidden: true }),
    user("5", { _type: "remark" }),
  );
  const { messages } = readSeed((await linesOf(records)).join(""));
  assert.equal(messages.map(({ content }) => content).join(), "1,5");
});

const cursors: readonly [cursor: number, written: number][] = [
  [0, 0],
  [1, 1],
  [3, 1],
  [5, 3],
  [99, 3],
];
for (const [cursor, written] of cursors) {
  test(`with messages 2 and 3 of 5 hidden, a cursor after ${cursor} is written as ${written}`, async () => {
    const hide = { hidden: true };
    const usage = { _type: "metadata", kind: "usage" };
    const records = log(user("1"), user("2", hide), usage, user("3", hide), user("4"), user("5"));
    const lines = await linesOf(records, "seed", { ...head, last_consolidated: cursor });
    const { metadata } = readSeed(lines.join(""));
    assert.deepEqual(metadata, { ...head, key, _type: "metadata", last_consolidated: written });
    assert.equal(lines.length, cursor === written ? 4 : 5);
  });
}

test("the full form holds every record as it is stored, and the seed's reader finds the true head", async () => {
  const records = log(
    user("1"),
    { _type: "metadata", kind: "removal", target: "m1" },
    { note: "foreign" },
    user("/new", { hidden: true }),
  );
  const more = { ...head, session: { generation: 2 } };
  const lines = await linesOf(records, "full", more);
  const between = lines.slice(1, -1).map((line) => JSON.parse(line));
  assert.deepEqual(between, records);
  assert.equal(lines.at(-1), lines[0]);
  assert.deepEqual(readSeed(lines.join("")).metadata, { ...more, key, _type: "metadata" });
});

test("the seed form keeps a head's own fields to itself, the full form cannot be forged by them", async () => {
  const odd = { ...head, _type: "message", session: {} };
  const [seed] = await linesOf([], "seed", odd);
  assert.deepEqual(JSON.parse(seed ?? ""), { ...head, key, _type: "metadata" });
  const [full] = await linesOf([], "full", odd);
  assert.deepEqual(JSON.parse(full ?? ""), { ...head, key, session: {}, _type: "metadata" });
});

for (const form of ["seed", "full"] as const) {
  test(`in the ${form} form every text comes back, and a line ends only where it ends`, async () => {
    const odd = "a\u2028b\u2029c\u0085d\re\nf\r\ng\u0000h\u009b2Jh\ud800i\u001ej\u000bk\fl";
    const unit = fc.nat({ max: 0xffff }).map((code) => String.fromCharCode(code));
    const texts = fc.oneof(fc.string({ unit }), fc.constant(odd));
    await fc.assert(
      fc.asyncProperty(texts, async (content) => {
        const records = log(user(content));
        const lines = await linesOf(records, form);
        // What str.splitlines() of the seed's language takes for the end of a line.
        const ends = /\p{Cc}|[\u2028\u2029]/gu;
        for (const line of lines) assert.deepEqual(line.match(ends), ["\n"]);
        assert.deepEqual(JSON.parse(lines[1] ?? ""), records[0]);
      }),
    );
  });

  test(`in the ${form} form a key named __proto__ is a key like any other`, async () => {
    const record = JSON.parse(
      `{"id":"m1","role":"user","content":"x","timestamp":"","__proto__":{"a":1},"seq":1}`,
    );
    const lines = await linesOf([record], form);
    assert.match(lines[1] ?? "", /"__proto__":\{"a":1\}/);
    assert.equal(({} as Record<string, unknown>)["a"], undefined);
  });

  test(`the ${form} form is made one record at a time, from a log of any length`, async () => {
    let read = 0;
    async function* endless(): AsyncGenerator<StoredRecord> {
      for (;;) yield { id: `m${++read}`, seq: read, role: "user", content: "x", timestamp: "" };
    }
    let lines = 0;
    for await (const _ of forms[form](key, head, endless(), noFiles)) {
      if (++lines === 1_000) break;
    }
    assert.ok(read <= lines, `${read} records for ${lines} lines`);
  });
}
