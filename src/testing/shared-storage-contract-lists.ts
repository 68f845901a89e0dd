import assert from "node:assert/strict";
import { chat, found, listed, message, redaction } from "./log-store-contract-fixtures.ts";
import { upTo, withFour, withTwo } from "./shared-storage-contract-fixtures.ts";
import type { SharedClause } from "./shared-storage-contract-place.ts";

function at(second: number): string {
  return `2026-03-01T12:00:${String(second).padStart(2, "0")}.000Z`;
}

/** Lists and searches over what several processes stored. */
export const sharedListClauses: readonly SharedClause[] = [
  {
    id: "shared.list.all",
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
    id: "shared.list.moves",
    says: "a log that one process appended to is at its new place in the list of another at once",
    proof: withTwo(async (a, b) => {
      await a.log.append("one", [message("m1")], { head: { updated_at: at(1) } });
      await a.log.append("two", [message("m1")], { head: { updated_at: at(2) } });
      assert.deepEqual(await listed(b.log), ["two", "one"]);
      await b.log.append("one", [message("m2")], { head: { updated_at: at(3) } });
      assert.deepEqual(await listed(a.log), ["one", "two"]);
    }),
  },
  {
    id: "shared.list.labels",
    says: "a label that one process's head gave a log filters the list of another",
    proof: withTwo(async (a, b) => {
      await a.log.append("one", [message("m1")], { head: { labels: ["open", "x"] } });
      await b.log.append("two", [message("m1")], { head: { labels: ["open"] } });
      assert.deepEqual(await listed(b.log, "x"), ["one"]);
      assert.deepEqual(await listed(a.log, "open"), ["one", "two"]);
      await b.log.append("one", [message("m2")], { head: { labels: [] } });
      assert.deepEqual(await listed(a.log, "x"), []);
    }),
  },
  {
    id: "shared.list.cursor",
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
    id: "shared.search.all",
    says: "a search finds the records of all processes, newest log and newest record first",
    proof: withTwo(async (a, b) => {
      await a.log.append("one", [message("m1", "green tea")], { head: { updated_at: at(1) } });
      await b.log.append("two", [message("m2", "green apples")], { head: { updated_at: at(2) } });
      await b.log.append("one", [message("m3", "tea, green")], { head: { updated_at: at(3) } });
      for (const { log } of [a, b]) {
        assert.deepEqual(await found(log, "green"), ["m3", "m1", "m2"]);
        assert.deepEqual(await found(log, "GREEN tea"), ["m3", "m1"]);
        assert.deepEqual(await found(log, "green", "two"), ["m2"]);
      }
    }),
  },
  {
    id: "shared.search.hidden",
    says: "a record that one process hid is not found by another",
    proof: withTwo(async (a, b) => {
      await a.log.append(chat, [message("m1", "a secret"), message("m2", "no secret")]);
      await b.log.append(chat, [redaction("r1", "m1")]);
      assert.deepEqual(await found(a.log, "secret"), ["m2"]);
      assert.deepEqual(await found(b.log, "secret"), ["m2"]);
    }),
  },
];
