import assert from "node:assert/strict";
import { jsonLimits } from "../core/json.ts";
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
  clauseWithTable("document.value.corpus", "a value comes back equal", valueCorpus, ({ value }) =>
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
    id: "document.value.named-as-ours",
    says: "keys that a store might use for itself are the caller's",
    proof: withDocuments(async (documents) => {
      const value = { value: 1, revision: 7, version: 2, key: "other", id: "x", seq: 3, crc: "0" };
      await documents.write(state, value);
      await holds(documents, value, 1);
    }),
  },
  {
    id: "document.copy.written",
    says: "what the caller does to a value after the call changes nothing",
    proof: withDocuments(async (documents) => {
      const value = { a: { b: [1] } };
      const written = documents.write(state, value);
      scribbleOn(value);
      await written;
      scribbleOn(value);
      await holds(documents, { a: { b: [1] } }, 1);
    }),
  },
  {
    id: "document.copy.read",
    says: "what a reader does to the value and keys that it got changes nothing for the next",
    proof: withDocuments(async (documents) => {
      await documents.write(state, { a: { b: [1] } });
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
  {
    id: "document.refuse.no-object",
    says: "a value that is no plain object is refused, and no document is made",
    proof: withDocuments(async (documents) => {
      for (const value of [null, undefined, "a", 1, true, [], [{}], new Map(), new Date(0)]) {
        await refuses("THROUGHLINE_INVALID", documents.write(state, untyped(value)));
      }
      await isGone(documents);
    }),
  },
  {
    id: "document.refuse.cycle",
    says: "a value that holds itself is too deep",
    proof: withDocuments(async (documents) => {
      const cycle: Record<string, unknown> = {};
      cycle["self"] = [cycle];
      await refuses("THROUGHLINE_TOO_LARGE", documents.write(state, untyped(cycle)));
      await isGone(documents);
    }),
  },
  {
    id: "document.limit.bytes",
    says: `a value of ${documentLimits.valueBytes} bytes of JSON is stored, one byte more is too large`,
    proof: withDocuments(async (documents) => {
      const room = documentLimits.valueBytes - Buffer.byteLength(JSON.stringify({ text: "" }));
      await documents.write(state, { a: 1 });
      const more = { text: "x".repeat(room + 1) };
      await refuses("THROUGHLINE_TOO_LARGE", documents.write(state, more));
      await holds(documents, { a: 1 }, 1);
      assert.equal(await documents.write(state, { text: "x".repeat(room) }), 2);
      await holds(documents, { text: "x".repeat(room) }, 2);
    }),
  },
  {
    id: "document.limit.utf-8",
    says: "the size of a value is counted in bytes of UTF-8, not in characters",
    proof: withDocuments(async (documents) => {
      const value = { text: "é".repeat(documentLimits.valueBytes / 2) };
      await refuses("THROUGHLINE_TOO_LARGE", documents.write(state, value));
      await isGone(documents);
    }),
  },
  {
    id: "document.limit.depth",
    says: `a value of ${jsonLimits.depth} levels is stored, one of ${jsonLimits.depth + 1} is too large`,
    proof: withDocuments(async (documents) => {
      const deeper = documents.write(state, { deep: nested(jsonLimits.depth) });
      await refuses("THROUGHLINE_TOO_LARGE", deeper);
      await isGone(documents);
      await documents.write(state, { deep: nested(jsonLimits.depth - 1) });
      await holds(documents, { deep: nested(jsonLimits.depth - 1) }, 1);
    }),
  },
  {
    id: "document.limit.keys",
    says: `a value of ${jsonLimits.keys} keys and items is stored, one more is too large`,
    proof: withDocuments(async (documents) => {
      const wide = (items: number) => ({ wide: new Array<number>(items).fill(0) });
      const more = documents.write(state, wide(jsonLimits.keys));
      await refuses("THROUGHLINE_TOO_LARGE", more);
      await isGone(documents);
      await documents.write(state, wide(jsonLimits.keys - 1));
      await holds(documents, wide(jsonLimits.keys - 1), 1);
    }),
  },
];

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
