import assert from "node:assert/strict";
import { holds, isGone, state } from "../../../src/testing/document-store-contract-fixtures.ts";
import { outcomesOf, refuses, upTo } from "../../../src/testing/log-store-contract-fixtures.ts";
import { during, withFour, withTwo } from "./shared-fixtures.ts";
import type { SharedClause } from "./shared-place.ts";

/** Documents that several processes write. */
export const sharedDocumentClauses: readonly SharedClause[] = [
  {
    says: "a document that one process wrote is read by another at once, with its revision and its key",
    proof: withTwo(async (a, b) => {
      await isGone(b.documents);
      for (const n of upTo(10)) {
        assert.equal(await a.documents.write(state, { n }), n);
        await holds(b.documents, { n }, n);
        const late = b.documents.write(state, { n: 0 }, { expectedRevision: n - 1 });
        await refuses("THROUGHLINE_CONFLICT", late);
      }
      await b.documents.write("a", { n: 1 });
      for (const { documents } of [a, b]) assert.deepEqual(await documents.keys(), ["a", state]);
    }),
  },
  {
    says: "in each of 10 rounds of four processes that expect one revision exactly one write is made",
    proof: withFour(async (writers) => {
      for (const n of upTo(10)) {
        const calls = writers.map(({ documents }, index) =>
          documents.write(state, { n, index }, { expectedRevision: n - 1 }),
        );
        const { answers, codes } = await outcomesOf(calls);
        assert.deepEqual(answers, [n]);
        assert.deepEqual(codes, new Array(3).fill("THROUGHLINE_CONFLICT"));
      }
    }),
  },
  {
    says: "20 writes of two processes at once that expect nothing have 20 revisions, the last stays",
    proof: withTwo(async (a, b) => {
      const calls = upTo(20).map(async (n) => {
        const { documents } = n % 2 === 0 ? a : b;
        return { n, revision: await documents.write(state, { n }) };
      });
      const written = (await Promise.all(calls)).sort((x, y) => x.revision - y.revision);
      assert.deepEqual(
        written.map(({ revision }) => revision),
        upTo(20),
      );
      await holds(a.documents, { n: written.at(-1)?.n }, 20);
      await holds(b.documents, { n: written.at(-1)?.n }, 20);
    }),
  },
  {
    says: "a process that reads while another writes gets a whole value, never an older one again",
    proof: withTwo(async (a, b) => {
      const value = (n: number) => ({ n, list: new Array<number>(500).fill(n), last: n });
      await a.documents.write(state, value(1));
      const writes = upTo(20).map((n) => a.documents.write(state, value(n + 1)));
      let newest = 0;
      await during(writes, async () => {
        const read = await b.documents.read(state);
        const revision = read?.revision ?? 0;
        assert.deepEqual(read?.value, value(revision));
        assert.ok(revision >= newest);
        newest = revision;
      });
      assert.equal(newest, 21);
    }),
  },
  {
    says: "a document that one process deleted is gone for another, and begins again at revision 1",
    proof: withTwo(async (a, b) => {
      await a.documents.write(state, { n: 1 });
      await a.documents.write(state, { n: 2 });
      assert.equal(await b.documents.delete(state), true);
      await isGone(a.documents);
      const late = a.documents.write(state, { n: 3 }, { expectedRevision: 2 });
      await refuses("THROUGHLINE_CONFLICT", late);
      assert.equal(await a.documents.write(state, { n: 4 }, { expectedRevision: 0 }), 1);
      await holds(b.documents, { n: 4 }, 1);
    }),
  },
];
