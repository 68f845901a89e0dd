import assert from "node:assert/strict";
import type { DocumentStore } from "../core/storage/document-store.ts";
import { type Clause, clauseWithTable } from "./contract.ts";
import { keyCorpus, textCorpus, valueCorpus } from "./corpus.ts";
import {
  documentsAcrossReopening,
  documentsOf,
  holds,
  isGone,
  state,
  withDocuments,
} from "./document-store-contract-fixtures.ts";
import { everything, logsOf, messages, numbered, refuses } from "./log-store-contract-fixtures.ts";

const calls: readonly (readonly [string, (documents: DocumentStore) => Promise<unknown>])[] = [
  ["read", (documents) => documents.read(state)],
  ["write", (documents) => documents.write(state, { a: 1 })],
  ["delete", (documents) => documents.delete(state)],
  ["forgetCopies", (documents) => documents.forgetCopies(state)],
  ["keys", (documents) => documents.keys()],
];

const storages: readonly Clause[] = [
  clauseWithTable(
    "document.closed.calls",
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
    id: "document.closed.pending",
    says: "writes that are under way when the storage is closed are finished",
    proof: withDocuments(async (documents, storage) => {
      const pending = [1, 2, 3, 4, 5].map((n) => documents.write(state, { n }));
      await storage.close();
      assert.deepEqual(await Promise.all(pending), [1, 2, 3, 4, 5]);
    }),
  },
  {
    id: "document.storage.collections",
    says: "the same key in two collections is two documents",
    proof: withDocuments(async (documents, storage) => {
      const moods = documentsOf(storage, "moods");
      await documents.write(state, { a: 1 });
      assert.equal(await moods.write(state, { b: 2 }), 1);
      await holds(documents, { a: 1 }, 1);
      await documents.delete(state);
      await isGone(documents);
      await holds(moods, { b: 2 }, 1);
      assert.deepEqual([await documents.keys(), await moods.keys()], [[], [state]]);
    }),
  },
  {
    id: "document.copies.none",
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
    id: "document.storage.asked-twice",
    says: "the documents of one collection are the same ones each time that they are asked for",
    proof: withDocuments(async (documents, storage) => {
      await documents.write(state, { a: 1 });
      await holds(documentsOf(storage), { a: 1 }, 1);
      assert.equal(await documentsOf(storage).write(state, { a: 2 }, { expectedRevision: 1 }), 2);
      await holds(documents, { a: 2 }, 2);
    }),
  },
  {
    id: "document.storage.beside-a-log",
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
  {
    id: "document.storage.two-storages",
    says: "two storages that were opened empty share no document",
    async proof(open) {
      await using one = await open();
      await using two = await open();
      await documentsOf(one).write(state, { a: 1 });
      await isGone(documentsOf(two));
    },
  },
];

const reopening: readonly Clause[] = [
  {
    id: "document.reopen.values",
    says: "after reopening, a document has its newest value and its revision, and counts on",
    ...documentsAcrossReopening(
      async (documents) => {
        for (const a of [1, 2, 3]) await documents.write(state, { a });
      },
      async (documents) => {
        await holds(documents, { a: 3 }, 3);
        const late = documents.write(state, { a: 4 }, { expectedRevision: 2 });
        await refuses("THROUGHLINE_CONFLICT", late);
        assert.equal(await documents.write(state, { a: 4 }, { expectedRevision: 3 }), 4);
      },
    ),
  },
  {
    id: "document.reopen.deleted",
    says: "after reopening, a deleted document is still deleted, with every copy of it",
    ...documentsAcrossReopening(
      async (documents) => {
        for (const a of [1, 2, 3]) await documents.write(state, { a });
        await documents.delete(state);
      },
      async (documents) => {
        await isGone(documents);
        assert.equal(await documents.write(state, { a: 4 }, { expectedRevision: 0 }), 1);
      },
    ),
  },
  {
    id: "document.reopen.copies-forgotten",
    says: "after reopening, a document whose copies were forgotten has its newest value",
    ...documentsAcrossReopening(
      async (documents) => {
        for (const a of [1, 2, 3]) await documents.write(state, { a });
        await documents.forgetCopies(state);
        await documents.forgetCopies(state);
      },
      async (documents) => {
        await holds(documents, { a: 3 }, 3);
        assert.equal(await documents.write(state, { a: 4 }, { expectedRevision: 3 }), 4);
      },
    ),
  },
  {
    id: "document.reopen.begun-again",
    says: "after reopening, a document that was deleted and made again has its second life only",
    ...documentsAcrossReopening(
      async (documents) => {
        for (const a of [1, 2, 3]) await documents.write(state, { a });
        await documents.delete(state);
        await documents.write(state, { b: 1 });
      },
      async (documents) => holds(documents, { b: 1 }, 1),
    ),
  },
  {
    id: "document.reopen.refused",
    says: "after reopening, nothing of a refused write is there",
    ...documentsAcrossReopening(
      async (documents) => {
        await documents.write(state, { a: 1 });
        await refuses("THROUGHLINE_INVALID", documents.write(state, { a: Number.NaN }));
        const late = documents.write(state, { a: 2 }, { expectedRevision: 0 });
        await refuses("THROUGHLINE_CONFLICT", late);
      },
      async (documents) => holds(documents, { a: 1 }, 1),
    ),
  },
  {
    id: "document.reopen.pending",
    says: "after reopening, writes that were under way at the close are there",
    ...documentsAcrossReopening(
      async (documents) => {
        for (const n of [1, 2, 3, 4, 5]) void documents.write(state, { n });
      },
      async (documents) => holds(documents, { n: 5 }, 5),
    ),
  },
  {
    id: "document.reopen.text",
    says: "after reopening, texts and values of every kind come back equal",
    ...documentsAcrossReopening(
      async (documents) => {
        for (const { name, text } of textCorpus) await documents.write(`text ${name}`, { text });
        for (const { name, value } of valueCorpus) await documents.write(`value ${name}`, value);
      },
      async (documents) => {
        for (const { name, text } of textCorpus)
          await holds(documents, { text }, 1, `text ${name}`);
        for (const { name, value } of valueCorpus)
          await holds(documents, value, 1, `value ${name}`);
      },
    ),
  },
  {
    id: "document.reopen.keys",
    says: "after reopening, every key has its own document",
    ...documentsAcrossReopening(
      async (documents) => {
        for (const { name, text } of keyCorpus) await documents.write(text, { name });
      },
      async (documents) => {
        for (const { name, text } of keyCorpus) await holds(documents, { name }, 1, text);
        assert.deepEqual(await documents.keys(), keyCorpus.map(({ text }) => text).sort());
      },
    ),
  },
  {
    id: "document.reopen.collections",
    says: "after reopening, every collection has its own documents",
    ...documentsAcrossReopening(
      async (documents, storage) => {
        await documents.write(state, { a: 1 });
        await documentsOf(storage, "moods").write(state, { b: 1 });
      },
      async (documents, storage) => {
        await holds(documents, { a: 1 }, 1);
        await holds(documentsOf(storage, "moods"), { b: 1 }, 1);
      },
    ),
  },
];

/** Opening, closing, and what is there afterwards. */
export const documentLifecycleClauses: readonly Clause[] = [...storages, ...reopening];
