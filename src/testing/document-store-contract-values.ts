import assert from "node:assert/strict";
import type { ErrorCode } from "../core/errors.ts";
import { type JsonObject, jsonLimits } from "../core/json.ts";
import { type DocumentStore, documentLimits } from "../core/storage/document-store.ts";
import { type Clause, clauseWithTable } from "./contract.ts";
import {
  codeUnits,
  keyCorpus,
  nested,
  refusedKeys,
  refusedValues,
  textCorpus,
  valueCorpus,
} from "./corpus.ts";
import { holds, isGone, state, withDocuments } from "./document-store-contract-fixtures.ts";
import { refuses, scribbleOn, untyped } from "./log-store-contract-fixtures.ts";

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
  clauseWithTable(
    "document.text.corpus",
    "text comes back equal, as a value and as a key",
    textCorpus,
    ({ text }) =>
      withDocuments(async (documents) => {
        const value = { text, in: { [`key ${text}`]: [text] } };
        await documents.write(state, value);
        await holds(documents, value, 1);
      }),
  ),
  clauseWithTable(
    "document.value.corpus",
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
    id: "document.text.every-code-unit",
    says: "each of the 65,536 code units comes back equal",
    proof: withDocuments(async (documents) => {
      const units = codeUnits(0, 0x10000);
      await documents.write(state, { units, backwards: [...units].reverse().join("") });
      await holds(documents, { units, backwards: [...units].reverse().join("") }, 1);
    }),
  },
  {
    id: "document.value.undefined",
    says: "a property that is undefined is left out, as JSON leaves it out",
    proof: withDocuments(async (documents) => {
      await documents.write(state, { a: 1, b: undefined });
      await holds(documents, { a: 1 }, 1);
    }),
  },
  {
    id: "document.copy.kept",
    says: "what a caller does to a value that it wrote or read, or to the keys, changes nothing",
    proof: withDocuments(async (documents) => {
      const value = { a: { b: [1] } };
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
    "document.refuse.value",
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
    "document.refuse.no-object",
    "a value that is no plain object, or holds itself, is refused, and no document is made",
    [
      ...[null, undefined, "a", 1, true, [], [{}], new Map(), new Date(0)].map(
        (value) => [String(value), value] as const,
      ),
      ["an object that holds itself", cycle(), "THROUGHLINE_TOO_LARGE"],
    ],
    ([, value, code = "THROUGHLINE_INVALID"]) =>
      withDocuments(async (documents) => {
        await refuses(code, documents.write(state, untyped(value)));
        await isGone(documents);
      }),
  ),
  clauseWithTable(
    "document.limit",
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
  clauseWithTable("document.key.corpus", "a document can have any key", keyCorpus, ({ text }) =>
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
    id: "document.key.all-different",
    says: "keys that differ at all are different documents",
    proof: withDocuments(async (documents) => {
      await Promise.all(keyCorpus.map(({ name, text }) => documents.write(text, { name })));
      for (const { name, text } of keyCorpus) await holds(documents, { name }, 1, text);
      assert.deepEqual(await documents.keys(), keyCorpus.map(({ text }) => text).sort());
    }),
  },
  clauseWithTable(
    "document.key.refused",
    "what is no key is refused by every call",
    refusedKeys,
    ({ value, code }) =>
      withDocuments(async (documents) => {
        for (const call of callsWith(documents, untyped(value))) await refuses(code, call);
        assert.deepEqual(await documents.keys(), []);
      }),
  ),
];

/** What a value and a key can be. */
export const documentValueClauses: readonly Clause[] = [...values, ...refused, ...keys];
