import assert from "node:assert/strict";
import { type LogStore, logLimits, type PageOptions } from "../core/storage/log-store.ts";
import { type Clause, clauseWithTable } from "./contract.ts";
import {
  chat,
  message,
  messageOfBytes,
  messages,
  numbered,
  withLogs,
} from "./log-store-contract-fixtures.ts";

async function fill(log: LogStore): Promise<void> {
  await log.append(chat, messages(1, 2));
  await log.append(chat, messages(3, 7));
  await log.append(chat, messages(8, 9));
}

type Page = readonly [name: string, options: PageOptions, seqs: readonly number[]];

const far = Number.MAX_SAFE_INTEGER;

/** Of a log that holds 1 to 9. */
const pages: readonly Page[] = [
  ["the newest", { limit: 3 }, [7, 8, 9]],
  ["the whole log", { limit: 1_000 }, [1, 2, 3, 4, 5, 6, 7, 8, 9]],
  ["before a seq", { before: 7, limit: 4 }, [3, 4, 5, 6]],
  ["before a seq near the beginning", { before: 3, limit: 4 }, [1, 2]],
  ["before the first", { before: 1, limit: 4 }, []],
  ["before 0", { before: 0, limit: 4 }, []],
  ["before the seq that comes next", { before: 10, limit: 2 }, [8, 9]],
  ["before a seq far past the end", { before: far, limit: 2 }, [8, 9]],
  ["after a seq", { after: 3, limit: 4 }, [4, 5, 6, 7]],
  ["after 0", { after: 0, limit: 4 }, [1, 2, 3, 4]],
  ["after a seq near the end", { after: 8, limit: 4 }, [9]],
  ["after the last", { after: 9, limit: 4 }, []],
  ["after a seq far past the end", { after: far, limit: 4 }, []],
];

/** Pages from the newest back to the first. */
async function seqsBackwards(
  log: LogStore,
  limit: number,
  look: (count: number) => void = () => undefined,
): Promise<number[]> {
  const seqs: number[] = [];
  for (let before = far; before > 1; before = seqs[0] ?? 0) {
    const records = await log.page(chat, { before, limit });
    look(records.length);
    seqs.unshift(...records.map((record) => record.seq));
  }
  return seqs;
}

/** Pages from the first to the newest, which has the seq `last`. */
async function seqsForwards(
  log: LogStore,
  limit: number,
  last: number,
  look: (count: number) => void = () => undefined,
): Promise<number[]> {
  const seqs: number[] = [];
  for (let after = 0; after < last; after = seqs.at(-1) ?? last) {
    const records = await log.page(chat, { after, limit });
    look(records.length);
    seqs.push(...records.map((record) => record.seq));
  }
  return seqs;
}

/** Pages of a log, in both directions. */
export const pagingClauses: readonly Clause[] = [
  clauseWithTable(
    "log.page.bounds",
    "a page ends just before a seq, begins just after one, or is the newest; it holds what is there, oldest first",
    pages,
    ([, options, seqs]) =>
      withLogs(async (log) => {
        await fill(log);
        const records = seqs.map((seq) => ({ ...message(`m${seq}`), seq }));
        assert.deepEqual(await log.page(chat, options), records);
      }),
  ),
  clauseWithTable(
    "log.page.walk",
    "pages going back from the newest, or on from the oldest, hold every record once, whatever the limit",
    [1, 2, 3, 4, 8, 9, 10],
    (limit) =>
      withLogs(async (log) => {
        await fill(log);
        const all = [1, 2, 3, 4, 5, 6, 7, 8, 9];
        assert.deepEqual(await seqsBackwards(log, limit), all);
        assert.deepEqual(await seqsForwards(log, limit, 9), all);
      }),
  ),
  {
    id: "log.page.bytes",
    says: `a page ends early where it holds ${logLimits.pageBytes} bytes; the next one continues there`,
    proof: withLogs(async (log) => {
      const all = Array.from({ length: 10 }, (_, index) => index + 1);
      for (const n of all) {
        await log.append(chat, [messageOfBytes(`m${n}`, logLimits.recordBytes)]);
      }
      const most = Math.ceil(logLimits.pageBytes / logLimits.recordBytes) + 1;
      const look = (count: number) => {
        assert.ok(count >= 1 && count <= most, `${count} records`);
      };
      assert.deepEqual(await seqsBackwards(log, 1_000, look), all);
      assert.deepEqual(await seqsForwards(log, 1_000, 10, look), all);
      const newest = await log.page(chat, { limit: 1_000 });
      assert.ok(newest.length <= most && newest.at(-1)?.seq === 10);
    }),
  },
  {
    id: "log.page.while-appending",
    says: "pages going back are the same while records are appended",
    proof: withLogs(async (log) => {
      await fill(log);
      const newest = await log.page(chat, { limit: 4 });
      await log.append(chat, messages(10, 14));
      const older = await log.page(chat, { before: newest[0]?.seq ?? 0, limit: 4 });
      await log.append(chat, messages(15, 15));
      const oldest = await log.page(chat, { before: older[0]?.seq ?? 0, limit: 4 });
      assert.deepEqual([...oldest, ...older, ...newest], numbered(messages(1, 9)));
    }),
  },
];
