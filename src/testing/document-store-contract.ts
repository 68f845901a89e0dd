import assert from "node:assert/strict";
import type { JsonObject } from "../core/json.ts";
import type { DocumentStore } from "../core/storage/document-store.ts";
import type { Storage } from "../core/storage/storage.ts";
import { type Clause, type Contract, clauseWithTable } from "./contract.ts";
import { keyCorpus, textCorpus, valueCorpus } from "./corpus.ts";
import {
  documentsAcrossReopening,
  documentsOf,
  holds,
  isGone,
  state,
  withDocuments,
} from "./document-store-contract-fixtures.ts";
import { documentWritingClauses } from "./document-store-contract-writing.ts";
import {
  everything,
  logsOf,
  messages,
  numbered,
  outcomesOf,
  refuses,
  untyped,
  upTo,
} from "./log-store-contract-fixtures.ts";

const calls: readonly (readonly [string, (documents: DocumentStore) => Promise<unknown>])[] = [
  ["read", (documents) => documents.read(state)],
  ["write", (documents) => documents.write(state, { a: 1 })],
  ["delete", (documents) => documents.delete(state)],
  ["forgetCopies", (documents) => documents.forgetCopies(state)],
  ["keys", (documents) => documents.keys()],
];

const storages: readonly Clause[] = [
  clauseWithTable(
    "every call rejects with THROUGHLINE_CLOSED after the storage was closed",
    calls,
    ([, call]) =>
      withDocuments(async (documents, storage) => {
        await documents.write(state, { a: 1 });
        await storage.close();
        await refuses("THROUGHLINE_CLOSED", call(documents));
      }),
  ),
  {
    says: "writes that are under way when the storage is closed are finished",
    proof: withDocuments(async (documents, storage) => {
      const pending = [1, 2, 3, 4, 5].map((n) => documents.write(state, { n }));
      await storage.close();
      assert.deepEqual(await Promise.all(pending), [1, 2, 3, 4, 5]);
    }),
  },
  {
    says: "the same key in two collections is two documents, and the same key in one is one",
    proof: withDocuments(async (documents, storage) => {
      const moods = documentsOf(storage, "moods");
      await documents.write(state, { a: 1 });
      assert.equal(await moods.write(state, { b: 2 }), 1);
      await holds(documents, { a: 1 }, 1);
      await holds(documentsOf(storage), { a: 1 }, 1);
      await documents.delete(state);
      await isGone(documents);
      await holds(moods, { b: 2 }, 1);
      assert.deepEqual([await documents.keys(), await moods.keys()], [[], [state]]);
    }),
  },
  {
    says: "forgetting the copies of a document that does not exist, or has none, changes nothing",
    proof: withDocuments(async (documents) => {
      await documents.forgetCopies(state);
      await isGone(documents);
      await documents.write(state, { a: 1 });
      await documents.forgetCopies(state);
      await holds(documents, { a: 1 }, 1);
    }),
  },
  {
    says: "a value in which the reader finds damage is neither read again nor listed, and the next write begins again",
    proof: withDocuments(async (documents) => {
      await documents.write(state, { a: "wrong" });
      const find = ({ a }: JsonObject) => (a === "wrong" ? "a must be a number" : undefined);
      assert.equal(await documents.read(state, find), undefined);
      await isGone(documents);
      assert.equal(await documents.write(state, { a: 1 }, { expectedRevision: 0 }), 1);
      assert.deepEqual(await documents.read(state, find), { value: { a: 1 }, revision: 1 });
      await documents.forgetCopies(state);
      await holds(documents, { a: 1 }, 1);
    }),
  },
  {
    says: "a reader that throws at a value leaves it as it is",
    proof: withDocuments(async (documents) => {
      await documents.write(state, { a: 1 });
      const refuse = () => assert.fail("not this one");
      await assert.rejects(documents.read(state, refuse), { message: "not this one" });
      await holds(documents, { a: 1 }, 1);
    }),
  },
  {
    says: "a document and a log with the same key do not disturb each other",
    proof: withDocuments(async (documents, storage) => {
      const log = logsOf(storage);
      await log.append(state, messages(1, 2));
      await documents.write(state, { a: 1 });
      await log.delete(state);
      await holds(documents, { a: 1 }, 1);
      await log.append(state, messages(1, 1));
      await documents.delete(state);
      assert.deepEqual(await everything(log, state), numbered(messages(1, 1)));
    }),
  },
];

interface History {
  readonly name: string;
  readonly before: (documents: DocumentStore, storage: Storage) => Promise<unknown>;
}

const histories: readonly History[] = [
  { name: "three writes", before: writeThree },
  {
    name: "a deleted document",
    async before(documents) {
      await writeThree(documents);
      await documents.delete(state);
    },
  },
  {
    name: "a document that was deleted and made again",
    async before(documents) {
      await writeThree(documents);
      await documents.delete(state);
      await documents.write(state, { b: 1 });
    },
  },
  {
    name: "a document whose copies were forgotten",
    async before(documents) {
      await writeThree(documents);
      await documents.forgetCopies(state);
      await documents.forgetCopies(state);
    },
  },
  {
    name: "refused writes",
    async before(documents) {
      await documents.write(state, { a: 1 });
      await refuses("THROUGHLINE_INVALID", documents.write(state, { a: Number.NaN }));
      const late = documents.write(state, { a: 2 }, { expectedRevision: 0 });
      await refuses("THROUGHLINE_CONFLICT", late);
    },
  },
  {
    name: "texts and values of every kind",
    async before(documents) {
      for (const { name, text } of textCorpus) await documents.write(`text ${name}`, { text });
      for (const { name, value } of valueCorpus) await documents.write(`value ${name}`, value);
    },
  },
  {
    name: "every key",
    async before(documents) {
      for (const { name, text } of keyCorpus) await documents.write(text, { name });
    },
  },
  {
    name: "two collections",
    async before(documents, storage) {
      await documents.write(state, { a: 1 });
      await documentsOf(storage, "moods").write(state, { b: 1 });
    },
  },
];

async function writeThree(documents: DocumentStore): Promise<void> {
  for (const a of [1, 2, 3]) await documents.write(state, { a });
}

/** Every document of a storage. */
async function readAll(storage: Storage): Promise<unknown> {
  const all = [];
  for (const documents of [documentsOf(storage), documentsOf(storage, "moods")]) {
    for (const key of await documents.keys()) all.push([key, await documents.read(key)]);
    all.push(await documents.read(state));
  }
  return all;
}

const reopening: readonly Clause[] = [
  {
    ...clauseWithTable(
      "after reopening, every document has the value and the revision that it had, or is gone",
      histories,
      ({ before }) =>
        async (open, reopen) => {
          await using storage = await open();
          await before(documentsOf(storage), storage);
          const was = await readAll(storage);
          await using again = await reopen(storage);
          assert.deepEqual(await readAll(again), was);
        },
    ),
    reopens: true,
  },
  {
    says: "after reopening, a document counts on from its revision, and from 0 if it was deleted",
    ...documentsAcrossReopening(
      async (documents) => {
        for (const a of [1, 2, 3]) await documents.write(state, { a });
        await documents.write("deleted", { a: 1 });
        await documents.delete("deleted");
      },
      async (documents) => {
        const late = documents.write(state, { a: 4 }, { expectedRevision: 2 });
        await refuses("THROUGHLINE_CONFLICT", late);
        assert.equal(await documents.write(state, { a: 4 }, { expectedRevision: 3 }), 4);
        assert.equal(await documents.write("deleted", { a: 4 }, { expectedRevision: 0 }), 1);
      },
    ),
  },
  {
    says: "after reopening, writes that were under way at the close are there",
    ...documentsAcrossReopening(
      async (documents) => {
        for (const n of [1, 2, 3, 4, 5]) void documents.write(state, { n });
      },
      async (documents) => holds(documents, { n: 5 }, 5),
    ),
  },
];

const atOnce: readonly Clause[] = [
  {
    says: "50 writes at once are made in the order of the calls, and each answers its revision",
    proof: withDocuments(async (documents) => {
      const calls = upTo(50).map((n) => documents.write(state, { n }));
      assert.deepEqual(await Promise.all(calls), upTo(50));
      await holds(documents, { n: 50 }, 50);
    }),
  },
  clauseWithTable(
    "of 20 writes at once that expect one revision one is made, the others are conflicts",
    [
      { name: "no document", revision: 0 },
      { name: "a document that was written twice", revision: 2 },
    ],
    ({ revision }) =>
      withDocuments(async (documents) => {
        for (const n of upTo(revision)) await documents.write(state, { n });
        const calls = upTo(20).map((n) =>
          documents.write(state, { n }, { expectedRevision: revision }),
        );
        const { answers, codes } = await outcomesOf(calls);
        assert.deepEqual(answers, [revision + 1]);
        assert.deepEqual(codes, new Array(19).fill("THROUGHLINE_CONFLICT"));
        assert.equal((await documents.read(state))?.revision, revision + 1);
      }),
  ),
  {
    says: "a reader while a writer replaces gets a whole value and never none",
    proof: withDocuments(async (documents) => {
      const value = (n: number) => ({ n, list: new Array<number>(500).fill(n), last: n });
      await documents.write(state, value(1));
      const writes = upTo(40).map((n) => documents.write(state, value(n + 1)));
      const reads = upTo(4).map(async () => {
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
    says: "a write that is refused does not harm the writes around it",
    proof: withDocuments(async (documents) => {
      const bad = untyped<{ n: number }>({ n: Number.NaN });
      const calls = [{ n: 1 }, bad, { n: 2 }, bad, { n: 3 }].map((value) =>
        documents.write(state, value),
      );
      const { answers, codes } = await outcomesOf(calls);
      assert.deepEqual(answers, [1, 2, 3]);
      assert.deepEqual(codes, ["THROUGHLINE_INVALID", "THROUGHLINE_INVALID"]);
      await holds(documents, { n: 3 }, 3);
    }),
  },
  {
    says: "a caller that has awaited a write reads it, also from its key's place in the list",
    proof: withDocuments(async (documents) => {
      for (const n of upTo(30)) {
        const revision = await documents.write(`k${n}`, { n });
        await holds(documents, { n }, revision, `k${n}`);
        assert.equal((await documents.keys()).length, n);
      }
    }),
  },
  {
    says: "a delete forgets the writes that were called before it, answered or not, and the next write begins at revision 1; of five at once one answers that there was a document",
    proof: withDocuments(async (documents) => {
      const late = upTo(10).map((n) => documents.write(state, { n }));
      await documents.delete(state);
      await isGone(documents);
      await Promise.allSettled(late);
      await isGone(documents);
      await documents.write(state, { n: 1 });
      const deleted = documents.delete(state);
      const written = documents.write(state, { n: 2 });
      assert.deepEqual(await Promise.all([deleted, written]), [true, 1]);
      await holds(documents, { n: 2 }, 1);
      const answers = await Promise.all(upTo(5).map(() => documents.delete(state)));
      assert.deepEqual(answers.filter(Boolean), [true]);
    }),
  },
];

/** What every document store promises. */
export const documentStoreContract: Contract = {
  name: "document store",
  clauses: [...documentWritingClauses, ...atOnce, ...storages, ...reopening],
};
