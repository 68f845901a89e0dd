import assert from "node:assert/strict";
import type { ErrorCode } from "../core/errors.ts";
import { type JsonObject, jsonLimits } from "../core/json.ts";
import {
  type DocumentStore,
  documentLimits,
  reservedDocumentNames,
} from "../core/storage/document-store.ts";
import { type Clause, clauseWithTable } from "./contract.ts";
import {
  keyCorpus,
  nested,
  refusedKeys,
  refusedPositions,
  refusedValues,
  textCorpus,
  valueCorpus,
} from "./corpus.ts";
import { holds, isGone, state, withDocuments } from "./document-store-contract-fixtures.ts";
import { refuses, scribbleOn, untyped } from "./log-store-contract-fixtures.ts";

interface Current {
  readonly name: string;
  /** The revision after `before`. */
  readonly revision: number;
  readonly before: (documents: DocumentStore) => Promise<unknown>;
}

async function writeTwice(documents: DocumentStore): Promise<void> {
  for (const a of [1, 2]) await documents.write(state, { a });
}

const currents: readonly Current[] = [
  {
    name: "a document that is not there, beside another",
    revision: 0,
    before: (documents) => documents.write("other", { a: 1 }),
  },
  { name: "a document that was written twice", revision: 2, before: writeTwice },
  {
    name: "a document that was deleted",
    revision: 0,
    async before(documents) {
      await writeTwice(documents);
      await documents.delete(state);
    },
  },
];

const writing: readonly Clause[] = [
  {
    says: "the revision counts the writes of its document from 1, of equal values too",
    proof: withDocuments(async (documents) => {
      await documents.write("other", { mood: "calm" });
      await isGone(documents);
      for (let revision = 1; revision <= 5; revision++) {
        assert.equal(await documents.write(state, { mood: "calm" }), revision);
        await holds(documents, { mood: "calm" }, revision);
      }
      await holds(documents, { mood: "calm" }, 1, "other");
    }),
  },
  {
    says: "a write replaces the whole value: nothing is merged, and nothing of a longer one is left",
    proof: withDocuments(async (documents) => {
      await documents.write(state, { mood: "calm", text: "x".repeat(200_000), in: { a: 1 } });
      await documents.write(state, { in: { b: 2 } });
      await holds(documents, { in: { b: 2 } }, 2);
      await documents.write(state, {});
      await holds(documents, {}, 3);
    }),
  },
  {
    says: "a deleted document is gone, with every earlier value, and begins again at revision 1; delete answers whether there was one",
    proof: withDocuments(async (documents) => {
      assert.equal(await documents.delete(state), false);
      for (const a of [1, 2, 3]) await documents.write(state, { a });
      assert.equal(await documents.delete(state), true);
      assert.equal(await documents.delete(state), false);
      await isGone(documents);
      assert.equal(await documents.write(state, { a: 4 }), 1);
      await holds(documents, { a: 4 }, 1);
    }),
  },
  {
    says: "delete forgets that document and no other",
    proof: withDocuments(async (documents) => {
      for (const key of ["a", "a:b", "a:b:c", "A"]) await documents.write(key, { key });
      assert.equal(await documents.delete("a:b"), true);
      assert.deepEqual(await documents.keys(), ["A", "a", "a:b:c"]);
      for (const key of ["a", "a:b:c", "A"]) await holds(documents, { key }, 1, key);
    }),
  },
  {
    says: "the keys are those of all documents that are there, each once, sorted by code unit",
    proof: withDocuments(async (documents) => {
      assert.deepEqual(await documents.keys(), []);
      const sorted = ["10", "9", "B", "a", "a:", "b", "é", "\u{1f600}", "\uff21"];
      for (const key of [...sorted].reverse()) await documents.write(key, { key });
      for (const key of sorted) await documents.write(key, { again: key });
      assert.deepEqual(await documents.keys(), sorted);
      await documents.delete("a");
      assert.deepEqual(
        await documents.keys(),
        sorted.filter((key) => key !== "a"),
      );
      await documents.write("a", {});
      assert.deepEqual(await documents.keys(), sorted);
    }),
  },
  clauseWithTable(
    "a write that expects the revision that is there, or 0 for none, is made; any other is a conflict, and the value that is there stands",
    currents,
    ({ revision, before }) =>
      withDocuments(async (documents) => {
        await before(documents);
        const was = await documents.read(state);
        for (const expectedRevision of [0, 1, 2, 3].filter((other) => other !== revision)) {
          const call = documents.write(state, { a: 3 }, { expectedRevision });
          await refuses("THROUGHLINE_CONFLICT", call);
          assert.deepEqual(await documents.read(state), was);
        }
        const options = { expectedRevision: revision };
        assert.equal(await documents.write(state, { a: 3 }, options), revision + 1);
        await holds(documents, { a: 3 }, revision + 1);
      }),
  ),
  {
    says: "a conditional write that is repeated is a conflict: documents have no ids",
    proof: withDocuments(async (documents) => {
      await documents.write(state, { a: 1 }, { expectedRevision: 0 });
      const call = documents.write(state, { a: 1 }, { expectedRevision: 0 });
      await refuses("THROUGHLINE_CONFLICT", call);
      await holds(documents, { a: 1 }, 1);
    }),
  },
  clauseWithTable(
    "an expected revision that is no whole number from 0 is refused",
    refusedPositions,
    ({ value: expectedRevision }) =>
      withDocuments(async (documents) => {
        await documents.write(state, { a: 1 });
        const call = documents.write(state, { a: 2 }, untyped({ expectedRevision }));
        await refuses("THROUGHLINE_INVALID", call);
        await holds(documents, { a: 1 }, 1);
      }),
  ),
];

const ours = { value: 1, revision: 7, version: 2, key: "other", id: "x", seq: 3, crc: "0" };
const envelope = Buffer.byteLength(JSON.stringify({ text: "" }));

interface Limit {
  readonly name: string;
  readonly value: (size: number) => JsonObject;
  /** The largest size that is stored. */
  readonly fits: number;
}

const limits: readonly Limit[] = [
  {
    name: "bytes of JSON",
    value: (size) => ({ text: "x".repeat(size) }),
    fits: documentLimits.valueBytes - envelope,
  },
  {
    name: "two-byte characters, counted in bytes",
    value: (size) => ({ text: "é".repeat(size) }),
    fits: Math.floor((documentLimits.valueBytes - envelope) / 2),
  },
  {
    name: "levels",
    value: (size) => ({ deep: nested(size) }),
    fits: jsonLimits.depth - 1,
  },
  {
    name: "keys and items",
    value: (size) => ({ wide: new Array<number>(size).fill(0) }),
    fits: jsonLimits.keys - 1,
  },
];

const values: readonly Clause[] = [
  clauseWithTable("text comes back equal, as a value and as a key", textCorpus, ({ text }) =>
    withDocuments(async (documents) => {
      const value = { text, in: { [`key ${text}`]: [text] } };
      await documents.write(state, value);
      await holds(documents, value, 1);
    }),
  ),
  clauseWithTable(
    "a value comes back equal, also under keys that a store might use for itself",
    [...valueCorpus, { name: "named-as-ours", value: ours }],
    ({ value }) =>
      withDocuments(async (documents) => {
        await documents.write(state, value);
        await holds(documents, value, 1);
        assert.equal(Reflect.get({}, "polluted"), undefined);
      }),
  ),
  {
    says: "what a caller does to a value that it wrote or read, or to the keys, changes nothing; what is undefined is left out",
    proof: withDocuments(async (documents) => {
      const value = { a: { b: [1] }, c: undefined };
      const written = documents.write(state, value);
      scribbleOn(value);
      await written;
      scribbleOn(value);
      await holds(documents, { a: { b: [1] } }, 1);
      scribbleOn(await documents.read(state));
      scribbleOn(await documents.keys());
      await holds(documents, { a: { b: [1] } }, 1);
      assert.deepEqual(await documents.keys(), [state]);
    }),
  },
];

const refused: readonly Clause[] = [
  clauseWithTable(
    "a value that JSON cannot hold is refused, and the old one stands",
    refusedValues,
    ({ value }) =>
      withDocuments(async (documents) => {
        await documents.write(state, { a: 1 });
        for (const holding of [{ value }, { in: [{ value }] }]) {
          await refuses("THROUGHLINE_INVALID", documents.write(state, untyped(holding)));
        }
        await holds(documents, { a: 1 }, 1);
      }),
  ),
  clauseWithTable<readonly [name: string, value: unknown, code?: ErrorCode]>(
    "a value that is no plain object, holds itself or has a field of the store is refused, and no document is made",
    [
      ...[null, undefined, "a", 1, true, [], [{}], new Map(), new Date(0)].map(
        (value) => [String(value), value] as const,
      ),
      ["an object that holds itself", cycle(), "THROUGHLINE_TOO_LARGE"],
      ...reservedDocumentNames.map((name) => [name, { [name]: 1 }] as const),
    ],
    ([, value, code = "THROUGHLINE_INVALID"]) =>
      withDocuments(async (documents) => {
        await refuses(code, documents.write(state, untyped(value)));
        await isGone(documents);
      }),
  ),
  clauseWithTable(
    `a value of ${documentLimits.valueBytes} bytes of JSON, ${jsonLimits.depth} levels and ${jsonLimits.keys} keys and items is stored; more is too large, and the old one stands`,
    limits,
    ({ value, fits }) =>
      withDocuments(async (documents) => {
        await documents.write(state, { a: 1 });
        await refuses("THROUGHLINE_TOO_LARGE", documents.write(state, value(fits + 1)));
        await holds(documents, { a: 1 }, 1);
        assert.equal(await documents.write(state, value(fits)), 2);
        await holds(documents, value(fits), 2);
      }),
  ),
];

function cycle(): unknown {
  const value: Record<string, unknown> = {};
  value["self"] = [value];
  return value;
}

function callsWith(documents: DocumentStore, key: string): readonly Promise<unknown>[] {
  return [documents.read(key), documents.write(key, {}), documents.delete(key)];
}

const keys: readonly Clause[] = [
  clauseWithTable("a document can have any key", keyCorpus, ({ text }) =>
    withDocuments(async (documents) => {
      await documents.write(text, { a: 1 });
      assert.equal(await documents.write(text, { a: 2 }, { expectedRevision: 1 }), 2);
      await holds(documents, { a: 2 }, 2, text);
      assert.deepEqual(await documents.keys(), [text]);
      assert.equal(await documents.delete(text), true);
      await isGone(documents, text);
    }),
  ),
  {
    says: "keys that differ at all are different documents",
    proof: withDocuments(async (documents) => {
      await Promise.all(keyCorpus.map(({ name, text }) => documents.write(text, { name })));
      for (const { name, text } of keyCorpus) await holds(documents, { name }, 1, text);
      assert.deepEqual(await documents.keys(), keyCorpus.map(({ text }) => text).sort());
    }),
  },
  clauseWithTable("what is no key is refused by every call", refusedKeys, ({ value, code }) =>
    withDocuments(async (documents) => {
      for (const call of callsWith(documents, untyped(value))) await refuses(code, call);
      assert.deepEqual(await documents.keys(), []);
    }),
  ),
];

/** Writing, replacing and deleting, and what a value and a key can be. */
export const documentWritingClauses: readonly Clause[] = [
  ...writing,
  ...values,
  ...refused,
  ...keys,
];
