import assert from "node:assert/strict";
import type { LogStore } from "../../../src/core/storage/log-store.ts";
import { clauseWithTable } from "../../../src/testing/contract.ts";
import {
  chat,
  found,
  idsIn,
  listed,
  message,
  messages,
  numbered,
  removal,
  upTo,
} from "../../../src/testing/log-store-contract-fixtures.ts";
import { during, withFour, withTwo } from "./shared-fixtures.ts";
import type { SharedClause } from "./shared-place.ts";

/** Each answers the ids that it sees. */
const reads: readonly (readonly [name: string, ids: (log: LogStore) => Promise<string[]>])[] = [
  ["tail", async (log) => ((await log.tail(chat, 100))?.records ?? []).map(({ id }) => id)],
  ["page", async (log) => (await log.page(chat, { limit: 100 })).map(({ id }) => id)],
  ["page-after", async (log) => (await log.page(chat, { after: 0, limit: 100 })).map((r) => r.id)],
  ["read", (log) => idsIn(log)],
  [
    "find",
    async (log) => {
      const found = await Promise.all(upTo(4).map((n) => log.find(chat, `m${n}`)));
      return found.flatMap((record) => (record === undefined ? [] : [record.id]));
    },
  ],
  [
    "list",
    async (log) => {
      const seq = (await log.list({ limit: 10 })).rows[0]?.seq ?? 0;
      return upTo(seq).map((n) => `m${n}`);
    },
  ],
  [
    "search",
    async (log) => {
      const hits = await log.search("says", { limit: 100 });
      return hits.map((hit) => hit.record.id).reverse();
    },
  ],
];

const readings: readonly SharedClause[] = [
  clauseWithTable(
    "every way of reading sees what another process has stored, with its head, as soon as its append has answered",
    reads,
    ([, idsOf]) =>
      withTwo(async (a, b) => {
        assert.deepEqual(await idsOf(b.log), []);
        const ids: string[] = [];
        for (const { id, content } of messages(1, 4)) {
          await a.log.append(chat, [message(id, String(content))], { head: { newest: id } });
          ids.push(id);
          assert.deepEqual(await idsOf(b.log), ids);
          assert.deepEqual((await b.log.tail(chat, 0))?.head, { newest: id });
        }
      }),
  ),
  {
    says: "a process that reads while another appends sees whole batches, with the head of the last",
    proof: withTwo(async (a, b) => {
      const appends = upTo(20).map((n) =>
        a.log.append(chat, messages(3 * n - 2, 3 * n), { head: { newest: 3 * n } }),
      );
      let newest = 0;
      await during(appends, async () => {
        const { seq = 0, head = { newest: 0 }, records = [] } = (await b.log.tail(chat, 100)) ?? {};
        assert.deepEqual(records, numbered(messages(1, seq)));
        assert.deepEqual(head, { newest: seq });
        assert.ok(seq >= newest && seq % 3 === 0);
        newest = seq;
      });
      assert.equal(newest, 60);
    }),
  },
  {
    says: "an iteration yields what was stored when it began, whatever another process appends",
    proof: withTwo(async (a, b) => {
      await a.log.append(chat, messages(1, 10));
      const records = b.log.read(chat)[Symbol.asyncIterator]();
      const ids = [(await records.next()).value?.id];
      await a.log.append(chat, messages(11, 20));
      for (let next = await records.next(); !next.done; next = await records.next()) {
        ids.push(next.value.id);
      }
      assert.deepEqual(
        ids,
        messages(1, 10).map(({ id }) => id),
      );
    }),
  },
];

function at(second: number): string {
  return `2026-03-01T12:00:${String(second).padStart(2, "0")}.000Z`;
}

const lists: readonly SharedClause[] = [
  {
    says: "a list holds the logs of all processes, newest first, and is the same for all",
    proof: withFour(async (writers) => {
      const keys = upTo(20).map((n) => `chat:${n}`);
      for (const [index, key] of keys.entries()) {
        const { log } = writers[index % 4] ?? assert.fail();
        await log.append(key, [message("m1")], { head: { updated_at: at(index) } });
      }
      for (const { log } of writers) assert.deepEqual(await listed(log), [...keys].reverse());
    }),
  },
  {
    says: "a log that one process appended to is at its new place, under its new labels, in the list of another at once",
    proof: withTwo(async (a, b) => {
      await a.log.append("one", [message("m1")], { head: { updated_at: at(1), labels: ["x"] } });
      await b.log.append("two", [message("m1")], { head: { updated_at: at(2), labels: ["y"] } });
      assert.deepEqual(await listed(b.log), ["two", "one"]);
      assert.deepEqual([await listed(b.log, "x"), await listed(a.log, "y")], [["one"], ["two"]]);
      await b.log.append("one", [message("m2")], { head: { updated_at: at(3), labels: ["y"] } });
      assert.deepEqual(await listed(a.log), ["one", "two"]);
      assert.deepEqual([await listed(a.log, "x"), await listed(a.log, "y")], [[], ["one", "two"]]);
    }),
  },
  {
    says: "a cursor that one process answered goes on in another",
    proof: withTwo(async (a, b) => {
      for (const n of upTo(9)) {
        await a.log.append(`chat:${n}`, [message("m1")], { head: { updated_at: at(n) } });
      }
      const keys: string[] = [];
      let cursor: string | undefined;
      for (const { log } of [a, b, a, b, a]) {
        const page = await log.list({ limit: 2, cursor });
        keys.push(...page.rows.map(({ key }) => key));
        cursor = page.cursor;
      }
      assert.equal(cursor, undefined);
      assert.deepEqual(
        keys,
        upTo(9)
          .reverse()
          .map((n) => `chat:${n}`),
      );
    }),
  },
  {
    says: "a search finds the records of all processes, newest log and newest record first, until one of them hides a record",
    proof: withTwo(async (a, b) => {
      await a.log.append("one", [message("m1", "green tea")], { head: { updated_at: at(1) } });
      await b.log.append("two", [message("m2", "green apples")], { head: { updated_at: at(2) } });
      await b.log.append("one", [message("m3", "tea, green")], { head: { updated_at: at(3) } });
      for (const { log } of [a, b]) {
        assert.deepEqual(await found(log, "green"), ["m3", "m1", "m2"]);
        assert.deepEqual(await found(log, "GREEN tea"), ["m3", "m1"]);
        assert.deepEqual(await found(log, "green", "two"), ["m2"]);
      }
      await b.log.append("one", [removal("r1", "m1")]);
      for (const { log } of [a, b]) assert.deepEqual(await found(log, "tea"), ["m3"]);
    }),
  },
];

/** What one process sees of what another stored. */
export const sharedReadingClauses: readonly SharedClause[] = [...readings, ...lists];
