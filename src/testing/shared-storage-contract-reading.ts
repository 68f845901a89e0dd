import assert from "node:assert/strict";
import type { LogStore } from "../core/storage/log-store.ts";
import {
  chat,
  everything,
  idsIn,
  message,
  messages,
  numbered,
} from "./log-store-contract-fixtures.ts";
import { during, join, upTo, withTwo } from "./shared-storage-contract-fixtures.ts";
import type { SharedClause } from "./shared-storage-contract-place.ts";

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

/** What one process sees of what another stored. */
export const sharedReadingClauses: readonly SharedClause[] = [
  ...reads.map(
    ([name, idsOf]): SharedClause => ({
      id: `shared.read.${name}`,
      says: `${name} sees what another process has stored, as soon as its append has answered`,
      proof: withTwo(async (a, b) => {
        assert.deepEqual(await idsOf(b.log), []);
        const ids: string[] = [];
        for (const { id, content } of messages(1, 4)) {
          await a.log.append(chat, [message(id, String(content))]);
          ids.push(id);
          assert.deepEqual(await idsOf(b.log), ids);
        }
      }),
    }),
  ),
  {
    id: "shared.read.head",
    says: "a head that one process replaced is the head for the others at once",
    proof: withTwo(async (a, b) => {
      for (const n of upTo(10)) {
        await a.log.append(chat, messages(n, n), { head: { n } });
        assert.deepEqual((await b.log.tail(chat, 0))?.head, { n });
      }
    }),
  },
  {
    id: "shared.read.whole",
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
    id: "shared.read.snapshot",
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
  {
    id: "shared.read.late-joiner",
    says: "a process that joins later sees everything that was stored before",
    async proof(place) {
      const first = await join(place);
      await first.log.append(chat, messages(1, 30));
      await first.storage.close();
      const second = await join(place);
      assert.deepEqual(await everything(second.log), numbered(messages(1, 30)));
    },
  },
];
