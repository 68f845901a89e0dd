import assert from "node:assert/strict";
import type { DocumentStore } from "../core/storage/document-store.ts";
import { type Clause, clauseWithTable } from "./contract.ts";
import { refusedPositions } from "./corpus.ts";
import { holds, isGone, state, withDocuments } from "./document-store-contract-fixtures.ts";
import { refuses, untyped } from "./log-store-contract-fixtures.ts";

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

/** Writing, replacing and deleting. */
export const documentWritingClauses: readonly Clause[] = [
  {
    id: "document.write.counts",
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
    id: "document.write.replaces",
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
    id: "document.delete.forgets",
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
    id: "document.delete.no-other",
    says: "delete forgets that document and no other",
    proof: withDocuments(async (documents) => {
      for (const key of ["a", "a:b", "a:b:c", "A"]) await documents.write(key, { key });
      assert.equal(await documents.delete("a:b"), true);
      assert.deepEqual(await documents.keys(), ["A", "a", "a:b:c"]);
      for (const key of ["a", "a:b:c", "A"]) await holds(documents, { key }, 1, key);
    }),
  },
  {
    id: "document.keys.sorted",
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
    "document.expected-revision.current",
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
    id: "document.expected-revision.repeated",
    says: "a conditional write that is repeated is a conflict: documents have no ids",
    proof: withDocuments(async (documents) => {
      await documents.write(state, { a: 1 }, { expectedRevision: 0 });
      const call = documents.write(state, { a: 1 }, { expectedRevision: 0 });
      await refuses("THROUGHLINE_CONFLICT", call);
      await holds(documents, { a: 1 }, 1);
    }),
  },
  clauseWithTable(
    "document.expected-revision.refused",
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
