import assert from "node:assert/strict";
import { isThroughlineError } from "../core/errors.ts";
import type { DocumentStore } from "../core/storage/document-store.ts";
import { type Clause, clauseWithTable } from "./contract.ts";
import { holds, isGone, state, withDocuments } from "./document-store-contract-fixtures.ts";
import { untyped } from "./log-store-contract-fixtures.ts";

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

/** Adds one to the number in a document, and reads again for as long as others are faster. */
async function addOne(documents: DocumentStore): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const { value, revision } = (await documents.read(state)) ?? { value: { n: 0 }, revision: 0 };
    try {
      const n = Number(value["n"]) + 1;
      await documents.write(state, { n }, { expectedRevision: revision });
      return;
    } catch (error) {
      if (!isThroughlineError(error, "THROUGHLINE_CONFLICT")) throw error;
    }
  }
  assert.fail("one writer was a conflict 100 times");
}

/** Calls that are under way at the same time. */
export const documentConcurrencyClauses: readonly Clause[] = [
  {
    id: "document.at-once.order",
    says: "50 writes at once are made in the order of the calls, and each answers its revision",
    proof: withDocuments(async (documents) => {
      const calls = numbers(50).map((n) => documents.write(state, { n }));
      assert.deepEqual(await Promise.all(calls), numbers(50));
      await holds(documents, { n: 50 }, 50);
    }),
  },
  clauseWithTable(
    "document.at-once.race",
    "of 20 writes at once that expect one revision one is made, the others are conflicts",
    [
      { name: "no document", revision: 0 },
      { name: "a document that was written twice", revision: 2 },
    ],
    ({ revision }) =>
      withDocuments(async (documents) => {
        for (const n of numbers(revision)) await documents.write(state, { n });
        const calls = numbers(20).map((n) =>
          documents.write(state, { n }, { expectedRevision: revision }),
        );
        const outcomes = await Promise.allSettled(calls);
        const won = outcomes.filter((outcome) => outcome.status === "fulfilled");
        assert.deepEqual(won, [{ status: "fulfilled", value: revision + 1 }]);
        for (const outcome of outcomes) {
          if (outcome.status === "fulfilled") continue;
          assert.ok(isThroughlineError(outcome.reason, "THROUGHLINE_CONFLICT"));
        }
        assert.equal((await documents.read(state))?.revision, revision + 1);
      }),
  ),
  {
    id: "document.at-once.chain",
    says: "writes that each expect the revision of the one before may all be under way at once",
    proof: withDocuments(async (documents) => {
      const calls = numbers(20).map((n) =>
        documents.write(state, { n }, { expectedRevision: n - 1 }),
      );
      assert.deepEqual(await Promise.all(calls), numbers(20));
    }),
  },
  {
    id: "document.at-once.optimistic",
    says: "10 writers that read, add and write lose no addition",
    proof: withDocuments(async (documents) => {
      await Promise.all(numbers(10).map(() => addOne(documents)));
      await holds(documents, { n: 10 }, 10);
    }),
  },
  {
    id: "document.at-once.two-keys",
    says: "two documents written at once do not disturb each other",
    proof: withDocuments(async (documents) => {
      const calls = numbers(20).flatMap((n) => [
        documents.write("a", { n }),
        documents.write("b", { n: -n }),
      ]);
      await Promise.all(calls);
      await holds(documents, { n: 20 }, 20, "a");
      await holds(documents, { n: -20 }, 20, "b");
    }),
  },
  {
    id: "document.at-once.readers",
    says: "a reader while a writer replaces gets a whole value and never none",
    proof: withDocuments(async (documents) => {
      const value = (n: number) => ({ n, list: new Array<number>(500).fill(n), last: n });
      await documents.write(state, value(1));
      const writes = numbers(40).map((n) => documents.write(state, value(n + 1)));
      const reads = numbers(4).map(async () => {
        let newest = 0;
        for (let times = 0; times < 25; times++) {
          const found = await documents.read(state);
          assert.deepEqual(found, {
            value: value(found?.revision ?? 0),
            revision: found?.revision,
          });
          assert.ok((found?.revision ?? 0) >= newest);
          newest = found?.revision ?? 0;
        }
      });
      await Promise.all([...writes, ...reads]);
      await holds(documents, value(41), 41);
    }),
  },
  {
    id: "document.at-once.refused",
    says: "a write that is refused does not harm the writes around it",
    proof: withDocuments(async (documents) => {
      const bad = untyped<{ n: number }>({ n: Number.NaN });
      const calls = [{ n: 1 }, bad, { n: 2 }, bad, { n: 3 }].map((value) =>
        documents.write(state, value),
      );
      const outcomes = await Promise.allSettled(calls);
      const answers = outcomes.map((outcome) =>
        outcome.status === "fulfilled" ? outcome.value : "refused",
      );
      assert.deepEqual(answers, [1, "refused", 2, "refused", 3]);
      await holds(documents, { n: 3 }, 3);
    }),
  },
  {
    id: "document.at-once.own-write",
    says: "a caller that has awaited a write reads it, also from its key's place in the list",
    proof: withDocuments(async (documents) => {
      for (const n of numbers(30)) {
        const revision = await documents.write(`k${n}`, { n });
        await holds(documents, { n }, revision, `k${n}`);
        assert.equal((await documents.keys()).length, n);
      }
    }),
  },
  {
    id: "document.at-once.delete-wins",
    says: "a delete forgets the writes that were called before it, answered or not, and the next write begins at revision 1",
    proof: withDocuments(async (documents) => {
      const late = numbers(10).map((n) => documents.write(state, { n }));
      await documents.delete(state);
      await isGone(documents);
      await Promise.allSettled(late);
      await isGone(documents);
      await documents.write(state, { n: 1 });
      const deleted = documents.delete(state);
      const written = documents.write(state, { n: 2 });
      assert.deepEqual(await Promise.all([deleted, written]), [true, 1]);
      await holds(documents, { n: 2 }, 1);
    }),
  },
  {
    id: "document.at-once.deletes",
    says: "of five deletes at once one answers that there was a document",
    proof: withDocuments(async (documents) => {
      await documents.write(state, { n: 1 });
      const answers = await Promise.all(numbers(5).map(() => documents.delete(state)));
      assert.equal(answers.filter((answer) => answer).length, 1);
    }),
  },
];
