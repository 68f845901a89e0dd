import assert from "node:assert/strict";
import { type LogStore, logLimits, type PageOptions } from "../core/storage/log-store.ts";
import { type Clause, clauseWithTable } from "./contract.ts";
import { refusedLimits, zeroLimit } from "./corpus.ts";
import {
  chat,
  message,
  messageOfBytes,
  messages,
  numbered,
  refuses,
  untyped,
  withLogs,
} from "./log-store-contract-fixtures.ts";

/** The numbers of one page of a log that holds 1 to 9, in three batches. */
function page(options: PageOptions, expected: readonly number[]): Clause["proof"] {
  return withLogs(async (log) => {
    await fill(log);
    const records = expected.map((seq) => ({ ...message(`m${seq}`), seq }));
    assert.deepEqual(await log.page(chat, options), records);
  });
}

async function fill(log: LogStore): Promise<void> {
  await log.append(chat, messages(1, 2));
  await log.append(chat, messages(3, 7));
  await log.append(chat, messages(8, 9));
}

const pages: readonly Clause[] = [
  {
    id: "log.page.newest",
    says: "without before and after the page is the newest one, oldest record first",
    proof: page({ limit: 3 }, [7, 8, 9]),
  },
  {
    id: "log.page.whole",
    says: "a page with room for more than the log holds is the log",
    proof: page({ limit: 1_000 }, [1, 2, 3, 4, 5, 6, 7, 8, 9]),
  },
  {
    id: "log.page.before",
    says: "a page before a seq ends just before it",
    proof: page({ before: 7, limit: 4 }, [3, 4, 5, 6]),
  },
  {
    id: "log.page.before-few",
    says: "a page before a seq near the beginning holds what is there",
    proof: page({ before: 3, limit: 4 }, [1, 2]),
  },
  {
    id: "log.page.before-first",
    says: "the page before the first record is empty",
    proof: page({ before: 1, limit: 4 }, []),
  },
  {
    id: "log.page.before-0",
    says: "the page before 0 is empty",
    proof: page({ before: 0, limit: 4 }, []),
  },
  {
    id: "log.page.before-next",
    says: "the page before the seq that comes next is the newest one",
    proof: page({ before: 10, limit: 2 }, [8, 9]),
  },
  {
    id: "log.page.before-far",
    says: "the page before a seq far past the end is the newest one",
    proof: page({ before: Number.MAX_SAFE_INTEGER, limit: 2 }, [8, 9]),
  },
  {
    id: "log.page.after",
    says: "a page after a seq begins just after it",
    proof: page({ after: 3, limit: 4 }, [4, 5, 6, 7]),
  },
  {
    id: "log.page.after-0",
    says: "the page after 0 is the oldest one",
    proof: page({ after: 0, limit: 4 }, [1, 2, 3, 4]),
  },
  {
    id: "log.page.after-few",
    says: "a page after a seq near the end holds what is there",
    proof: page({ after: 8, limit: 4 }, [9]),
  },
  {
    id: "log.page.after-last",
    says: "the page after the last record is empty",
    proof: page({ after: 9, limit: 4 }, []),
  },
  {
    id: "log.page.after-far",
    says: "the page after a seq far past the end is empty",
    proof: page({ after: Number.MAX_SAFE_INTEGER, limit: 4 }, []),
  },
  {
    id: "log.page.missing",
    says: "every page of a log that is not there is empty",
    proof: withLogs(async (log) => {
      for (const options of [{ limit: 5 }, { before: 9, limit: 5 }, { after: 0, limit: 5 }]) {
        assert.deepEqual(await log.page(chat, options), []);
      }
    }),
  },
  {
    id: "log.page.both",
    says: "a page that is before one seq and after another is refused",
    proof: withLogs(async (log) => {
      await fill(log);
      await refuses("THROUGHLINE_INVALID", log.page(chat, { before: 5, after: 1, limit: 2 }));
      await refuses("THROUGHLINE_INVALID", log.page("missing", { before: 5, after: 1, limit: 2 }));
    }),
  },
  clauseWithTable(
    "log.page.refused",
    "page refuses a limit that is out of bounds",
    [zeroLimit, ...refusedLimits],
    ({ value: limit }) =>
      withLogs(async (log) => {
        await fill(log);
        await refuses("THROUGHLINE_INVALID", log.page(chat, untyped({ limit })));
        await refuses("THROUGHLINE_INVALID", log.page("missing", untyped({ limit })));
      }),
  ),
  {
    id: "log.page.no-seq",
    says: "a page before or after what is no seq is refused",
    proof: withLogs(async (log) => {
      await fill(log);
      for (const seq of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, "1", null]) {
        await refuses("THROUGHLINE_INVALID", log.page(chat, untyped({ before: seq, limit: 2 })));
        await refuses("THROUGHLINE_INVALID", log.page(chat, untyped({ after: seq, limit: 2 })));
      }
    }),
  },
];

const walks: readonly Clause[] = [
  {
    id: "log.page.backwards",
    says: "pages going back from the newest hold every record once, whatever the limit",
    proof: withLogs(async (log) => {
      await fill(log);
      for (const limit of [1, 2, 3, 4, 8, 9, 10]) {
        const seqs: number[] = [];
        for (let before = Number.MAX_SAFE_INTEGER; before > 1; before = seqs[0] ?? 0) {
          const records = await log.page(chat, { before, limit });
          seqs.unshift(...records.map((record) => record.seq));
        }
        assert.deepEqual(seqs, [1, 2, 3, 4, 5, 6, 7, 8, 9], `limit ${limit}`);
      }
    }),
  },
  {
    id: "log.page.forwards",
    says: "pages going on from the oldest hold every record once, whatever the limit",
    proof: withLogs(async (log) => {
      await fill(log);
      for (const limit of [1, 2, 3, 4, 8, 9, 10]) {
        const seqs: number[] = [];
        for (let more = true; more; ) {
          const records = await log.page(chat, { after: seqs.at(-1) ?? 0, limit });
          seqs.push(...records.map((record) => record.seq));
          more = records.length > 0;
        }
        assert.deepEqual(seqs, [1, 2, 3, 4, 5, 6, 7, 8, 9], `limit ${limit}`);
      }
    }),
  },
  {
    id: "log.page.long",
    says: "a page in the middle of 10,000 records is the same from both sides",
    proof: withLogs(async (log) => {
      for (let first = 1; first < 10_000; first += 1_000) {
        await log.append(chat, messages(first, first + 999));
      }
      const expected = numbered(messages(4_951, 5_050), 4_951);
      assert.deepEqual(await log.page(chat, { before: 5_051, limit: 100 }), expected);
      assert.deepEqual(await log.page(chat, { after: 4_950, limit: 100 }), expected);
    }),
  },
  {
    id: "log.page.bytes",
    says: `a page ends early where it holds ${logLimits.pageBytes} bytes; the next one continues there`,
    proof: withLogs(async (log) => {
      const count = 10;
      for (let n = 1; n <= count; n++) {
        await log.append(chat, [messageOfBytes(`m${n}`, logLimits.recordBytes)]);
      }
      const most = Math.ceil(logLimits.pageBytes / logLimits.recordBytes) + 1;
      const back: number[] = [];
      for (let before = Number.MAX_SAFE_INTEGER; before > 1; before = back[0] ?? 0) {
        const records = await log.page(chat, { before, limit: 1_000 });
        assert.ok(records.length >= 1 && records.length <= most, `${records.length} records`);
        back.unshift(...records.map(({ seq }) => seq));
      }
      const forth: number[] = [];
      while (forth.length < count) {
        const after = forth.at(-1) ?? 0;
        const records = await log.page(chat, { after, limit: 1_000 });
        assert.ok(records.length >= 1 && records.length <= most, `${records.length} records`);
        forth.push(...records.map(({ seq }) => seq));
      }
      const all = Array.from({ length: count }, (_, index) => index + 1);
      assert.deepEqual([back, forth], [all, all]);
      const newest = await log.page(chat, { limit: 1_000 });
      assert.ok(newest.length <= most && newest.at(-1)?.seq === count);
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

/** Pages of a log, in both directions. */
export const pagingClauses: readonly Clause[] = [...pages, ...walks];
