import assert from "node:assert/strict";
import type { LogStore } from "../core/storage/log-store.ts";
import type { Storage } from "../core/storage/storage.ts";
import { type Clause, clauseWithTable } from "./contract.ts";
import { keyCorpus, textCorpus, valueCorpus } from "./corpus.ts";
import {
  acrossReopening,
  chat,
  erased,
  everything,
  found,
  isAbsent,
  listed,
  logsOf,
  message,
  messages,
  numbered,
  refuses,
  removal,
} from "./log-store-contract-fixtures.ts";

/** Whatever can be read of a storage's logs. */
async function readAll(storage: Storage): Promise<unknown> {
  const all = [];
  for (const log of [logsOf(storage), logsOf(storage, "runs")]) {
    const { rows } = await log.list({ limit: 1_000 });
    all.push({ rows, x: await listed(log, "x"), y: await listed(log, "y") });
    for (const { key, seq } of rows) {
      const records = await everything(log, key);
      const middle = records[Math.floor(seq / 2)]?.id ?? "none";
      all.push({
        key,
        records,
        tail: await log.tail(key, 2),
        page: await log.page(key, { before: 4, limit: 2 }),
        middle: await log.find(key, middle),
      });
    }
    for (const word of ["tea", "京", "m2"]) all.push(await found(log, word));
  }
  return all;
}

interface History {
  readonly name: string;
  readonly before: (log: LogStore, storage: Storage) => Promise<unknown>;
}

const histories: readonly History[] = [
  {
    name: "several batches",
    async before(log) {
      await log.append(chat, messages(1, 3));
      await log.append(chat, messages(4, 9));
    },
  },
  {
    name: "3,000 records",
    async before(log) {
      for (const first of [1, 1_001, 2_001]) await log.append(chat, messages(first, first + 999));
    },
  },
  {
    name: "heads and labels",
    async before(log) {
      await log.append(chat, messages(1, 1), { head: { title: "a", labels: ["x"] } });
      await log.append(chat, messages(2, 2), { head: { title: "b", labels: ["y"] } });
      await log.append(chat, messages(3, 3));
      await log.append("no head", messages(1, 1));
    },
  },
  {
    name: "the order of the list",
    async before(log) {
      for (const [key, day] of Object.entries({ a: 2, b: 3, c: 1, d: 3 })) {
        await log.append(key, messages(1, day), { head: { updated_at: `2026-03-0${day}` } });
      }
    },
  },
  {
    name: "hidden and erased records",
    async before(log) {
      const batch = [message("m1", "green tea"), message("m2", "black tea")];
      await log.append(chat, [...batch, message("m3", "北京 tea"), removal("r1", "m1")]);
      await log.erase(chat, ["m2"]);
    },
  },
  {
    name: "a log that was deleted and begun again",
    async before(log) {
      await log.append(chat, messages(1, 5), { head: { title: "a" } });
      await log.delete(chat);
      await log.append(chat, messages(5, 6));
    },
  },
  {
    name: "a deleted log beside another",
    async before(log) {
      await log.append(chat, [message("m1", "tea")], { head: { labels: ["x"] } });
      await log.append("b", messages(1, 1));
      await log.delete(chat);
    },
  },
  {
    name: "refused appends",
    async before(log) {
      await log.append(chat, messages(1, 1));
      const bad = message("m3", "hi", { at: Number.NaN });
      await refuses("THROUGHLINE_INVALID", log.append(chat, [message("m2"), bad]));
      await refuses("THROUGHLINE_CONFLICT", log.append("b", messages(1, 1), { expectedSeq: 4 }));
    },
  },
  {
    name: "texts and values of every kind",
    before: (log) =>
      log.append(chat, [
        ...textCorpus.map(({ name, text }) => message(`text ${name}`, text)),
        ...valueCorpus.map(({ name, value }) => message(`value ${name}`, "value", { value })),
      ]),
  },
  {
    name: "every key",
    async before(log) {
      for (const { name, text } of keyCorpus) await log.append(text, [message("m1", name)]);
    },
  },
  {
    name: "two collections",
    async before(log, storage) {
      await log.append(chat, messages(1, 1));
      await logsOf(storage, "runs").append(chat, messages(2, 3));
    },
  },
];

/** What is there after a storage was closed and opened again. */
export const reopeningClauses: readonly Clause[] = [
  {
    ...clauseWithTable(
      "after reopening, whatever can be read is as it was, and no repair is reported",
      histories,
      ({ before }) =>
        async (open, reopen) => {
          await using storage = await open();
          await before(logsOf(storage), storage);
          const was = await readAll(storage);
          await using again = await reopen(storage);
          assert.deepEqual(await readAll(again), was);
          assert.deepEqual(again.repairs(), []);
        },
    ),
    reopens: true,
  },
  {
    says: "after reopening, known records are known, erased ids are used, and the ids of a deleted log are free",
    ...acrossReopening(
      async (log) => {
        await log.append(chat, messages(1, 3), { expectedSeq: 0 });
        await log.append(chat, messages(4, 900));
        await log.erase(chat, ["m2"]);
        await log.append("deleted", messages(1, 3), { head: { labels: ["x"] } });
        await log.delete("deleted");
      },
      async (log) => {
        assert.equal(await log.append(chat, messages(1, 3), { expectedSeq: 0 }), 3);
        assert.equal(await log.append(chat, [...messages(4, 4), message("x")]), 901);
        const other = log.append(chat, [message("m700", "other")]);
        await refuses("THROUGHLINE_ID_CONFLICT", other);
        assert.equal(await log.append(chat, [message("m2", "other")]), 2);
        assert.equal(await log.erase(chat, ["m2"]), 0);
        assert.deepEqual(await log.find(chat, "m2"), erased("m2", 2));
        await isAbsent(log, "deleted");
        assert.equal(await log.append("deleted", [message("m3", "other")]), 1);
      },
    ),
  },
  {
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
    says: "a storage can be reopened any number of times, and each opening adds to the same log",
    reopens: true,
    async proof(open, reopen) {
      let storage = await open();
      try {
        for (let seq = 1; seq <= 5; seq++) {
          const batch = messages(seq, seq);
          assert.equal(await logsOf(storage).append(chat, batch, { expectedSeq: seq - 1 }), seq);
          storage = await reopen(storage);
        }
        assert.deepEqual(await everything(logsOf(storage)), numbered(messages(1, 5)));
        assert.deepEqual(await found(logsOf(storage), "m3"), ["m3"]);
      } finally {
        await storage.close();
      }
    },
  },
];
