import assert from "node:assert/strict";
import { isThroughlineError } from "../../../src/core/errors.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { textCorpus, valueCorpus } from "../../../src/testing/corpus.ts";
import {
  chat,
  idsIn,
  messages,
  scribbleOn,
  untyped,
  upTo,
} from "../../../src/testing/log-store-contract-fixtures.ts";
import {
  chatLease,
  end,
  join,
  receivedFrom,
  receivedUntilEnd,
  withFour,
  withPlace,
  withThree,
  withTwo,
} from "./shared-fixtures.ts";
import type { SharedClause } from "./shared-place.ts";

/** The most bytes that a message has as UTF-8 JSON. */
const messageBytes = 1024 * 1024;

/** A message of exactly so many bytes. */
function messageOf(bytes: number): JsonObject {
  return { text: "x".repeat(bytes - Buffer.byteLength(JSON.stringify({ text: "" }))) };
}

const deliveries: readonly SharedClause[] = [
  {
    says: "when four processes publish at once, each gets the messages of every other in order and once, with their publisher, and never its own",
    proof: withFour(async (writers) => {
      const received = writers.map((writer) => receivedUntilEnd(writer, 3));
      for (const n of upTo(50)) for (const { cluster } of writers) cluster.publish({ n });
      for (const { cluster } of writers) cluster.publish(end);
      for (const [index, messages] of (await Promise.all(received)).entries()) {
        const others = writers.filter((_, other) => other !== index);
        assert.equal(messages.length, 150);
        for (const { cluster } of others) {
          const from = messages.filter(({ processId }) => processId === cluster.processId);
          assert.deepEqual(
            from.map(({ message }) => message["n"]),
            upTo(50),
          );
        }
      }
    }),
  },
  {
    says: "a subscriber that is notified of a finished append reads what it stored",
    proof: withTwo(async (a, b) => {
      for (const n of upTo(10)) {
        const received = receivedUntilEnd(b);
        await a.log.append(chat, messages(n, n));
        a.cluster.publish(end);
        await received;
        assert.equal((await idsIn(b.log)).length, n);
      }
    }),
  },
  {
    says: "a process that joins later receives what is published from then on",
    proof: withPlace(async (place) => {
      const a = await join(place);
      a.cluster.publish({ n: 1 });
      const b = await join(place);
      assert.deepEqual((await receivedFrom(a, b, [{ n: 2 }])).at(-1), { n: 2 });
    }),
  },
  {
    says: "the id of every process is its own, also after others have left",
    proof: withThree(async (a, b, c, place) => {
      await c.storage.close();
      const d = await join(place);
      const ids = [a, b, c, d].map(({ cluster }) => cluster.processId);
      assert.equal(new Set(ids).size, 4);
      assert.ok(ids.every((id) => id.length > 0));
    }),
  },
];

const contents: readonly SharedClause[] = [
  {
    says: "messages of 7,000 bytes to 1 MiB arrive whole, in order with short ones",
    proof: withTwo(async (a, b) => {
      const sizes = [7_000, 7_899, 7_900, 7_999, 8_000, 8_001, 20_000, messageBytes];
      const sent = sizes.flatMap((bytes) => [messageOf(bytes), { after: bytes }]);
      assert.deepEqual(await receivedFrom(a, b, sent), sent);
    }),
  },
  {
    says: "texts and values of every kind arrive equal",
    proof: withTwo(async (a, b) => {
      const sent = [
        ...textCorpus.map(({ text }) => ({ text })),
        ...valueCorpus.map(({ value }) => value),
      ];
      const received = await receivedFrom(a, b, sent);
      assert.deepEqual(
        received.map((message) => JSON.stringify(message)),
        sent.map((message) => JSON.stringify(message)),
      );
    }),
  },
  {
    says: "a message that is not a JSON object, or longer than 1 MiB, is refused and not delivered",
    proof: withTwo(async (a, b) => {
      const received = receivedUntilEnd(b);
      const bad: readonly unknown[] = [undefined, null, "text", [1], { at: Number.NaN }];
      for (const message of bad) {
        assert.throws(
          () => a.cluster.publish(untyped<JsonObject>(message)),
          (error) => isThroughlineError(error, "THROUGHLINE_INVALID"),
        );
      }
      assert.throws(
        () => a.cluster.publish(messageOf(messageBytes + 1)),
        (error) => isThroughlineError(error, "THROUGHLINE_TOO_LARGE"),
      );
      a.cluster.publish(end);
      assert.deepEqual(await received, []);
    }),
  },
  {
    says: "a message is copied when it is published, and no subscriber can change it for the others",
    proof: withTwo(async (a, b) => {
      const message = { list: [1, { n: 2 }] };
      b.cluster.subscribe((received) => scribbleOn(received));
      const received = receivedUntilEnd(b);
      a.cluster.publish(message);
      scribbleOn(message);
      a.cluster.publish(end);
      assert.deepEqual((await received)[0]?.message, { list: [1, { n: 2 }] });
    }),
  },
];

const endings: readonly SharedClause[] = [
  {
    says: "a subscription that ended receives nothing, and the others still do",
    proof: withTwo(async (a, b) => {
      const received: JsonObject[] = [];
      const stop = b.cluster.subscribe((message) => received.push(message));
      await receivedFrom(a, b, []);
      stop();
      stop();
      assert.deepEqual(await receivedFrom(a, b, [{ n: 1 }]), [{ n: 1 }]);
      assert.deepEqual(received, [end]);
    }),
  },
  {
    says: "a subscriber that throws still receives later messages, and so do the others",
    proof: withTwo(async (a, b) => {
      let calls = 0;
      b.cluster.subscribe(() => {
        calls++;
        throw new Error("thrown by a subscriber");
      });
      assert.equal((await receivedFrom(a, b, [{ n: 1 }, { n: 2 }, { n: 3 }])).length, 3);
      assert.equal(calls, 4);
    }),
  },
  {
    says: "a closed process receives nothing, and what it publishes is not delivered, and is no error",
    proof: withThree(async (a, b, c) => {
      const received: JsonObject[] = [];
      b.cluster.subscribe((message) => received.push(message));
      await b.storage.close();
      b.cluster.subscribe((message) => received.push(message));
      const delivered = receivedFrom(a, c, [{ n: 1 }]);
      b.cluster.publish({ n: 2 });
      assert.deepEqual(await delivered, [{ n: 1 }]);
      assert.deepEqual(await receivedFrom(a, c, [{ n: 3 }]), [{ n: 3 }]);
      assert.deepEqual(received, []);
    }),
  },
  {
    says: "what a process published before it was closed arrives",
    proof: withTwo(async (a, b) => {
      const sent = upTo(20).map((n) => ({ n }));
      const received = receivedFrom(a, b, sent);
      await a.storage.close();
      assert.deepEqual(await received, sent);
    }),
  },
];

const missed: readonly SharedClause[] = [
  {
    says: "a process that may have missed messages is notified, and no other; both receive what comes next",
    interrupts: true,
    proof: withTwo(async (a, b, place) => {
      let count = 0;
      a.cluster.onMissed(() => count++);
      const isMissed = new Promise<void>((resolve) => b.cluster.onMissed(resolve));
      await place.interrupt?.(b.storage);
      await isMissed;
      assert.deepEqual(await receivedFrom(a, b, [{ n: 1 }]), [{ n: 1 }]);
      assert.deepEqual(await receivedFrom(b, a, [{ n: 2 }]), [{ n: 2 }]);
      assert.equal(count, 0);
    }),
  },
  {
    says: "a waiter for a name gets it also if messages are missed while it is released",
    interrupts: true,
    proof: withTwo(async (a, b, place) => {
      const lease = await a.leases.acquire(chatLease);
      const waiting = b.leases.acquire(chatLease);
      await b.log.tail(chat, 0);
      const cut = place.interrupt?.(b.storage);
      await lease.release();
      await cut;
      assert.ok((await waiting).epoch > lease.epoch);
    }),
  },
];

/** Messages between processes. */
export const publishingClauses: readonly SharedClause[] = [
  ...deliveries,
  ...contents,
  ...endings,
  ...missed,
];
