import assert from "node:assert/strict";
import { type Clause, clauseWithTable } from "./contract.ts";
import { refusedPositions } from "./corpus.ts";
import { holds, isGone, state, withDocuments } from "./document-store-contract-fixtures.ts";
import { refuses, untyped } from "./log-store-contract-fixtures.ts";

const writing: readonly Clause[] = [
  {
    id: "document.read.missing",
    says: "a document that was never written is undefined",
    proof: withDocuments(async (documents) => {
      await documents.write("other", { a: 1 });
      await isGone(documents);
    }),
  },
  {
    id: "document.write.first",
    says: "the first write of a document answers the revision 1, and is read back",
    proof: withDocuments(async (documents) => {
      assert.equal(await documents.write(state, { mood: "calm" }), 1);
      await holds(documents, { mood: "calm" }, 1);
    }),
  },
  {
    id: "document.write.counts",
    says: "the revision counts the writes of its document, of equal values too",
    proof: withDocuments(async (documents) => {
      for (let revision = 1; revision <= 5; revision++) {
        assert.equal(await documents.write(state, { mood: "calm" }), revision);
      }
      assert.equal(await documents.write("other", { mood: "calm" }), 1);
      await holds(documents, { mood: "calm" }, 5);
    }),
  },
  {
    id: "document.write.replaces",
    says: "a write replaces the whole value: nothing is merged",
    proof: withDocuments(async (documents) => {
      await documents.write(state, { mood: "calm", wounds: [1, 2], in: { a: 1 } });
      await documents.write(state, { in: { b: 2 } });
      await holds(documents, { in: { b: 2 } }, 2);
      await documents.write(state, {});
      await holds(documents, {}, 3);
    }),
  },
  {
    id: "document.write.shorter",
    says: "a short value after a long one leaves nothing of the long one",
    proof: withDocuments(async (documents) => {
      await documents.write(state, { text: "x".repeat(200_000) });
      await documents.write(state, { text: "y" });
      await holds(documents, { text: "y" }, 2);
    }),
  },
  {
    id: "document.delete.answer",
    says: "delete answers whether there was a document",
    proof: withDocuments(async (documents) => {
      assert.equal(await documents.delete(state), false);
      await documents.write(state, { a: 1 });
      await documents.write(state, { a: 2 });
      assert.equal(await documents.delete(state), true);
      assert.equal(await documents.delete(state), false);
    }),
  },
  {
    id: "document.delete.forgets",
    says: "a deleted document is gone, with every earlier value of it",
    proof: withDocuments(async (documents) => {
      for (const a of [1, 2, 3]) await documents.write(state, { a });
      await documents.delete(state);
      await isGone(documents);
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
    id: "document.delete.begins-again",
    says: "a deleted document begins again at revision 1",
    proof: withDocuments(async (documents) => {
      for (const a of [1, 2, 3]) await documents.write(state, { a });
      await documents.delete(state);
      assert.equal(await documents.write(state, { a: 4 }), 1);
      await holds(documents, { a: 4 }, 1);
    }),
  },
  {
    id: "document.keys.none",
    says: "a collection without documents has no keys",
    proof: withDocuments(async (documents) => {
      assert.deepEqual(await documents.keys(), []);
    }),
  },
  {
    id: "document.keys.sorted",
    says: "the keys are those of all documents, each once, sorted by code unit",
    proof: withDocuments(async (documents) => {
      const sorted = ["10", "9", "B", "a", "a:", "b", "é", "\u{1f600}", "\uff21"];
      for (const key of [...sorted].reverse()) await documents.write(key, { key });
      for (const key of sorted) await documents.write(key, { again: key });
      assert.deepEqual(await documents.keys(), sorted);
    }),
  },
  {
    id: "document.keys.after-delete",
    says: "the key of a deleted document is no key, until it is written again",
    proof: withDocuments(async (documents) => {
      for (const key of ["a", "b", "c"]) await documents.write(key, { key });
      await documents.delete("b");
      assert.deepEqual(await documents.keys(), ["a", "c"]);
      await documents.write("b", {});
      assert.deepEqual(await documents.keys(), ["a", "b", "c"]);
    }),
  },
];

const conditions: readonly Clause[] = [
  {
    id: "document.expected-revision.new",
    says: "a write that expects 0 makes a document",
    proof: withDocuments(async (documents) => {
      assert.equal(await documents.write(state, { a: 1 }, { expectedRevision: 0 }), 1);
    }),
  },
  {
    id: "document.expected-revision.current",
    says: "a write that expects the revision that is there replaces it",
    proof: withDocuments(async (documents) => {
      await documents.write(state, { a: 1 });
      assert.equal(await documents.write(state, { a: 2 }, { expectedRevision: 1 }), 2);
      assert.equal(await documents.write(state, { a: 3 }, { expectedRevision: 2 }), 3);
    }),
  },
  clauseWithTable(
    "document.expected-revision.conflict",
    "a write that expects no document, an earlier or a later revision is a conflict, and the value that is there stands",
    [
      [0, "expects no document"],
      [1, "expects an earlier revision"],
      [3, "expects a later revision"],
    ] as const,
    ([expectedRevision]) =>
      withDocuments(async (documents) => {
        await documents.write(state, { a: 1 });
        await documents.write(state, { a: 2 });
        const call = documents.write(state, { a: 3 }, { expectedRevision });
        await refuses("THROUGHLINE_CONFLICT", call);
        await holds(documents, { a: 2 }, 2);
        assert.equal(await documents.write(state, { a: 3 }, { expectedRevision: 2 }), 3);
      }),
  ),
  {
    id: "document.expected-revision.missing",
    says: "a write that expects a revision of a document that is not there makes none",
    proof: withDocuments(async (documents) => {
      const call = documents.write(state, { a: 1 }, { expectedRevision: 1 });
      await refuses("THROUGHLINE_CONFLICT", call);
      await isGone(documents);
    }),
  },
  {
    id: "document.expected-revision.deleted",
    says: "a deleted document is at revision 0",
    proof: withDocuments(async (documents) => {
      await documents.write(state, { a: 1 });
      await documents.delete(state);
      const call = documents.write(state, { a: 2 }, { expectedRevision: 1 });
      await refuses("THROUGHLINE_CONFLICT", call);
      assert.equal(await documents.write(state, { a: 2 }, { expectedRevision: 0 }), 1);
    }),
  },
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

/** Writing, replacing and deleting. */
export const documentWritingClauses: readonly Clause[] = [...writing, ...conditions];
