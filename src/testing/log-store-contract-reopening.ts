import assert from "node:assert/strict";
import type { Clause } from "./contract.ts";
import { keyCorpus, textCorpus, valueCorpus } from "./corpus.ts";
import {
  acrossReopening,
  chat,
  erased,
  everything,
  found,
  idsIn,
  isAbsent,
  listed,
  logsOf,
  message,
  messages,
  numbered,
  redaction,
  refuses,
} from "./log-store-contract-fixtures.ts";

const awkward = [
  ...textCorpus.map(({ name, text }) => message(`text ${name}`, text)),
  ...valueCorpus.map(({ name, value }) => message(`value ${name}`, "value", { value })),
];

/** What is there after a storage was closed and opened again. */
export const reopeningClauses: readonly Clause[] = [
  {
    id: "log.reopen.records",
    says: "after reopening, a log holds every record that it held, in order",
    ...acrossReopening(
      async (log) => {
        await log.append(chat, messages(1, 3));
        await log.append(chat, messages(4, 9));
      },
      async (log) => {
        assert.deepEqual(await everything(log), numbered(messages(1, 9)));
        assert.deepEqual((await log.tail(chat, 2))?.records, numbered(messages(8, 9), 8));
        assert.deepEqual(
          await log.page(chat, { before: 4, limit: 2 }),
          numbered(messages(2, 3), 2),
        );
        assert.deepEqual(await log.find(chat, "m5"), { ...message("m5"), seq: 5 });
      },
    ),
  },
  {
    id: "log.reopen.long",
    says: "after reopening, a log of 3,000 records is whole",
    ...acrossReopening(
      async (log) => {
        for (const first of [1, 1_001, 2_001]) await log.append(chat, messages(first, first + 999));
      },
      async (log) => {
        assert.deepEqual(await everything(log), numbered(messages(1, 3_000)));
        assert.equal((await log.find(chat, "m1500"))?.seq, 1_500);
      },
    ),
  },
  {
    id: "log.reopen.goes-on",
    says: "after reopening, a log goes on with the next seq",
    ...acrossReopening(
      async (log) => {
        await log.append(chat, messages(1, 2));
      },
      async (log) => {
        await refuses("THROUGHLINE_CONFLICT", log.append(chat, messages(3, 3), { expectedSeq: 0 }));
        assert.equal(await log.append(chat, messages(3, 3), { expectedSeq: 2 }), 3);
        assert.deepEqual(await idsIn(log), ["m1", "m2", "m3"]);
      },
    ),
  },
  {
    id: "log.reopen.retry",
    says: "after reopening, a repeated append is still a repeated append",
    ...acrossReopening(
      async (log) => {
        await log.append(chat, messages(1, 3), { expectedSeq: 0 });
        await log.append(chat, messages(4, 900));
      },
      async (log) => {
        assert.equal(await log.append(chat, messages(1, 3), { expectedSeq: 0 }), 3);
        assert.equal(await log.append(chat, [...messages(4, 4), message("x")]), 901);
        const other = log.append(chat, [message("m700", "other")]);
        await refuses("THROUGHLINE_ID_CONFLICT", other);
        assert.equal((await log.tail(chat, 0))?.seq, 901);
      },
    ),
  },
  {
    id: "log.reopen.head",
    says: "after reopening, the head is the last one that was stored",
    ...acrossReopening(
      async (log) => {
        await log.append(chat, messages(1, 1), { head: { title: "a", labels: ["x"] } });
        await log.append(chat, messages(2, 2), { head: { title: "b", labels: ["y"] } });
        await log.append(chat, messages(3, 3));
        await log.append("no head", messages(1, 1));
      },
      async (log) => {
        assert.deepEqual((await log.tail(chat, 0))?.head, { title: "b", labels: ["y"] });
        assert.deepEqual((await log.tail("no head", 0))?.head, {});
        assert.deepEqual([await listed(log, "x"), await listed(log, "y")], [[], [chat]]);
      },
    ),
  },
  {
    id: "log.reopen.list",
    says: "after reopening, the list is the same, row by row and in order",
    ...acrossReopening(
      async (log) => {
        for (const [key, day] of Object.entries({ a: 2, b: 3, c: 1, d: 3 })) {
          await log.append(key, messages(1, day), { head: { updated_at: `2026-03-0${day}` } });
        }
      },
      async (log) => {
        const { rows } = await log.list({ limit: 10 });
        const expected = Object.entries({ b: 3, d: 3, a: 2, c: 1 }).map(([key, day]) => {
          return { key, seq: day, head: { updated_at: `2026-03-0${day}` }, damaged: false };
        });
        assert.deepEqual(rows, expected);
      },
    ),
  },
  {
    id: "log.reopen.search",
    says: "after reopening, search finds what it found and hides what it hid",
    ...acrossReopening(
      async (log) => {
        const batch = [message("m1", "green tea"), message("m2", "black tea")];
        await log.append(chat, [...batch, message("m3", "北京 tea"), redaction("r1", "m1")]);
        await log.erase(chat, ["m2"]);
      },
      async (log) => {
        assert.deepEqual(await found(log, "tea"), ["m3"]);
        assert.deepEqual(await found(log, "京"), ["m3"]);
        assert.deepEqual(await found(log, "black"), []);
      },
    ),
  },
  {
    id: "log.reopen.erased",
    says: "after reopening, an erased record is still erased, and its id still used",
    ...acrossReopening(
      async (log) => {
        await log.append(chat, messages(1, 3));
        await log.erase(chat, ["m1", "m3"]);
      },
      async (log) => {
        const middle = { ...message("m2"), seq: 2 };
        assert.deepEqual(await everything(log), [erased("m1", 1), middle, erased("m3", 3)]);
        assert.equal(await log.append(chat, [message("m3", "other")]), 3);
        assert.equal(await log.erase(chat, ["m1"]), 0);
        assert.equal(await log.append(chat, messages(4, 4)), 4);
      },
    ),
  },
  {
    id: "log.reopen.deleted",
    says: "after reopening, a deleted log is still deleted, and its ids free",
    ...acrossReopening(
      async (log) => {
        await log.append(chat, [message("m1", "violin")], { head: { labels: ["x"] } });
        await log.append("b", messages(1, 1));
        await log.delete(chat);
      },
      async (log) => {
        await isAbsent(log);
        assert.deepEqual(await found(log, "violin"), []);
        assert.deepEqual(await listed(log), ["b"]);
        assert.equal(await log.append(chat, [message("m1", "another")]), 1);
      },
    ),
  },
  {
    id: "log.reopen.begun-again",
    says: "after reopening, a log that was deleted and begun again has its second life only",
    ...acrossReopening(
      async (log) => {
        await log.append(chat, messages(1, 5), { head: { title: "a" } });
        await log.delete(chat);
        await log.append(chat, messages(5, 6));
      },
      async (log) => {
        assert.deepEqual(await everything(log), numbered(messages(5, 6)));
        assert.deepEqual((await log.tail(chat, 0))?.head, {});
        assert.deepEqual(await found(log, "m1"), []);
        assert.equal(await log.append(chat, messages(1, 1)), 3);
      },
    ),
  },
  {
    id: "log.reopen.refused",
    says: "after reopening, nothing of a refused append is there",
    ...acrossReopening(
      async (log) => {
        await log.append(chat, messages(1, 1));
        const bad = message("m3", "hi", { at: Number.NaN });
        await refuses("THROUGHLINE_INVALID", log.append(chat, [message("m2"), bad]));
        await refuses("THROUGHLINE_CONFLICT", log.append("b", messages(1, 1), { expectedSeq: 4 }));
      },
      async (log) => {
        assert.deepEqual(await idsIn(log), ["m1"]);
        await isAbsent(log, "b");
      },
    ),
  },
  {
    id: "log.reopen.pending",
    says: "after reopening, appends that were under way at the close are there",
    ...acrossReopening(
      async (log) => {
        for (const record of messages(1, 20)) void log.append(chat, [record]);
      },
      async (log) => {
        assert.deepEqual(await everything(log), numbered(messages(1, 20)));
      },
    ),
  },
  {
    id: "log.reopen.text",
    says: "after reopening, texts and values of every kind come back equal",
    ...acrossReopening(
      async (log) => {
        await log.append(chat, awkward);
      },
      async (log) => {
        assert.deepEqual(await everything(log), numbered(awkward));
        assert.equal(await log.append(chat, awkward), awkward.length);
      },
    ),
  },
  {
    id: "log.reopen.keys",
    says: "after reopening, every key has its own log",
    ...acrossReopening(
      async (log) => {
        for (const { name, text } of keyCorpus) await log.append(text, [message("m1", name)]);
      },
      async (log) => {
        for (const { name, text } of keyCorpus) {
          assert.deepEqual(await everything(log, text), numbered([message("m1", name)]));
        }
        assert.equal((await listed(log)).length, keyCorpus.length);
      },
    ),
  },
  {
    id: "log.reopen.collections",
    says: "after reopening, every collection has its own logs",
    ...acrossReopening(
      async (log, storage) => {
        await log.append(chat, messages(1, 1));
        await logsOf(storage, "runs").append(chat, messages(2, 3));
      },
      async (log, storage) => {
        assert.deepEqual(await idsIn(log), ["m1"]);
        assert.deepEqual(await idsIn(logsOf(storage, "runs")), ["m2", "m3"]);
      },
    ),
  },
  {
    id: "log.reopen.again-and-again",
    says: "a storage can be reopened any number of times, and each opening adds to the same log",
    reopens: true,
    async proof(open, reopen) {
      let storage = await open();
      try {
        for (let seq = 1; seq <= 5; seq++) {
          assert.equal(await logsOf(storage).append(chat, messages(seq, seq)), seq);
          storage = await reopen(storage);
        }
        assert.deepEqual(await everything(logsOf(storage)), numbered(messages(1, 5)));
        assert.deepEqual(await found(logsOf(storage), "m3"), ["m3"]);
      } finally {
        await storage.close();
      }
    },
  },
  {
    id: "log.reopen.no-repairs",
    says: "after reopening what was closed, no repair is reported",
    ...acrossReopening(
      async (log) => {
        await log.append(chat, messages(1, 3));
        await log.erase(chat, ["m2"]);
      },
      async (log, storage) => {
        await everything(log);
        assert.deepEqual(storage.repairs(), []);
      },
    ),
  },
];
