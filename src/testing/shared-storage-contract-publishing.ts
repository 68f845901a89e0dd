import assert from "node:assert/strict";
import { isThroughlineError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import { textCorpus, valueCorpus } from "./corpus.ts";
import { chat, idsIn, messages, scribbleOn, untyped } from "./log-store-contract-fixtures.ts";
import {
  chatLease,
  end,
  join,
  receivedUntilEnd,
  upTo,
  withFour,
  withThree,
  withTwo,
} from "./shared-storage-contract-fixtures.ts";
import type { SharedClause } from "./shared-storage-contract-place.ts";

/** The most bytes that a message has as UTF-8 JSON. */
const messageBytes = 1024 * 1024;

/** A message of exactly so many bytes. */
function messageOf(bytes: number): JsonObject {
  return { text: "x".repeat(bytes - Buffer.byteLength(JSON.stringify({ text: "" }))) };
}

const deliveries: readonly SharedClause[] = [
  {
    id: "shared.publish.others",
    says: "a message reaches every other process once, with its publisher, and never the publisher",
    proof: withFour(async (writers) => {
      const [publisher, ...others] = writers;
      const { cluster } = publisher ?? assert.fail();
      const own = receivedUntilEnd(publisher ?? assert.fail());
      const received = others.map((writer) => receivedUntilEnd(writer));
      cluster.publish({ n: 1 });
      cluster.publish({ n: 2 });
      cluster.publish(end);
      const { processId } = cluster;
      const expected = [
        { message: { n: 1 }, processId },
        { message: { n: 2 }, processId },
      ];
      for (const each of received) assert.deepEqual(await each, expected);
      others[0]?.cluster.publish(end);
      assert.deepEqual(await own, []);
    }),
  },
  {
    id: "shared.publish.order",
    says: "100 messages of one process arrive in their order",
    proof: withTwo(async (a, b) => {
      const received = receivedUntilEnd(b);
      for (const n of upTo(100)) a.cluster.publish({ n });
      a.cluster.publish(end);
      assert.deepEqual(
        (await received).map(({ message }) => message["n"]),
        upTo(100),
      );
    }),
  },
  {
    id: "shared.publish.all-at-once",
    says: "when four processes publish at once, each gets the messages of every other in order and once",
    proof: withFour(async (writers) => {
      const received = writers.map((writer) => receivedUntilEnd(writer, 3));
      for (const n of upTo(20)) for (const { cluster } of writers) cluster.publish({ n });
      for (const { cluster } of writers) cluster.publish(end);
      for (const [index, messages] of (await Promise.all(received)).entries()) {
        const others = writers.filter((_, other) => other !== index);
        assert.equal(messages.length, 60);
        for (const { cluster } of others) {
          const from = messages.filter(({ processId }) => processId === cluster.processId);
          assert.deepEqual(
            from.map(({ message }) => message["n"]),
            upTo(20),
          );
        }
      }
    }),
  },
  {
    id: "shared.publish.answers",
    says: "a subscriber can publish an answer, and it arrives",
    proof: withTwo(async (a, b) => {
      b.cluster.subscribe((message) => b.cluster.publish({ answer: message }));
      const answered = new Promise((resolve) => a.cluster.subscribe(resolve));
      a.cluster.publish({ n: 1 });
      assert.deepEqual(await answered, { answer: { n: 1 } });
    }),
  },
  {
    id: "shared.publish.after-append",
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
    id: "shared.publish.late-joiner",
    says: "a process that joins later receives what is published from then on",
    proof: async (place) => {
      const a = await join(place);
      a.cluster.publish({ n: 1 });
      const b = await join(place);
      const received = receivedUntilEnd(b);
      a.cluster.publish({ n: 2 });
      a.cluster.publish(end);
      assert.deepEqual((await received).at(-1)?.message, { n: 2 });
    },
  },
  {
    id: "shared.publish.process-ids",
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
    id: "shared.publish.sizes",
    says: "messages of 7,000 bytes to 1 MiB arrive whole, in order with short ones",
    proof: withTwo(async (a, b) => {
      const received = receivedUntilEnd(b);
      const sizes = [7_000, 7_899, 7_900, 7_999, 8_000, 8_001, 20_000, messageBytes];
      const sent = sizes.flatMap((bytes) => [messageOf(bytes), { after: bytes }]);
      for (const message of sent) a.cluster.publish(message);
      a.cluster.publish(end);
      assert.deepEqual(
        (await received).map(({ message }) => message),
        sent,
      );
    }),
  },
  {
    id: "shared.publish.text",
    says: "texts and values of every kind arrive equal",
    proof: withTwo(async (a, b) => {
      const received = receivedUntilEnd(b);
      const sent = [
        ...textCorpus.map(({ text }) => ({ text })),
        ...valueCorpus.map(({ value }) => value),
      ];
      for (const message of sent) a.cluster.publish(message);
      a.cluster.publish(end);
      const messages = (await received).map(({ message }) => JSON.stringify(message));
      assert.deepEqual(
        messages,
        sent.map((message) => JSON.stringify(message)),
      );
    }),
  },
  {
    id: "shared.publish.refused",
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
    id: "shared.publish.copied",
    says: "a message is copied when it is published, and each subscriber gets a copy of its own",
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
    id: "shared.publish.subscriber-ends",
    says: "a subscription that ended receives nothing, and the others still do",
    proof: withTwo(async (a, b) => {
      const received: JsonObject[] = [];
      const stop = b.cluster.subscribe((message) => received.push(message));
      const first = receivedUntilEnd(b);
      a.cluster.publish(end);
      await first;
      stop();
      stop();
      const second = receivedUntilEnd(b);
      a.cluster.publish({ n: 1 });
      a.cluster.publish(end);
      assert.equal((await second).length, 1);
      assert.deepEqual(received, [end]);
    }),
  },
  {
    id: "shared.publish.subscriber-throws",
    says: "a subscriber that throws still receives later messages, and so do the others",
    proof: withTwo(async (a, b) => {
      let calls = 0;
      b.cluster.subscribe(() => {
        calls++;
        throw new Error("thrown by a subscriber");
      });
      const received = receivedUntilEnd(b);
      for (const n of upTo(3)) a.cluster.publish({ n });
      a.cluster.publish(end);
      assert.equal((await received).length, 3);
      assert.equal(calls, 4);
    }),
  },
  {
    id: "shared.publish.closed-subscriber",
    says: "a closed process receives nothing",
    proof: withThree(async (a, b, c) => {
      const received: JsonObject[] = [];
      b.cluster.subscribe((message) => received.push(message));
      await b.storage.close();
      b.cluster.subscribe((message) => received.push(message));
      const delivered = receivedUntilEnd(c);
      a.cluster.publish({ n: 1 });
      a.cluster.publish(end);
      await delivered;
      assert.deepEqual(received, []);
    }),
  },
  {
    id: "shared.publish.closed-publisher",
    says: "what a closed process publishes is not delivered, and is no error",
    proof: withThree(async (a, b, c) => {
      const received = receivedUntilEnd(b);
      await a.storage.close();
      a.cluster.publish({ n: 1 });
      c.cluster.publish(end);
      assert.deepEqual(await received, []);
    }),
  },
  {
    id: "shared.publish.before-close",
    says: "what a process published before it was closed arrives",
    proof: withTwo(async (a, b) => {
      const received = receivedUntilEnd(b);
      for (const n of upTo(20)) a.cluster.publish({ n });
      a.cluster.publish(end);
      await a.storage.close();
      assert.equal((await received).length, 20);
    }),
  },
];

const missed: readonly SharedClause[] = [
  {
    id: "shared.missed.reported",
    says: "a process that may have missed messages is notified, and receives what comes next",
    interrupts: true,
    proof: withTwo(async (a, b, place) => {
      const isMissed = new Promise<void>((resolve) => b.cluster.onMissed(resolve));
      await place.interrupt?.(b.storage);
      await isMissed;
      const received = receivedUntilEnd(b);
      a.cluster.publish({ n: 1 });
      a.cluster.publish(end);
      assert.equal((await received).length, 1);
    }),
  },
  {
    id: "shared.missed.only-where",
    says: "a process that missed nothing is not notified, also while another one is",
    interrupts: true,
    proof: withTwo(async (a, b, place) => {
      let count = 0;
      a.cluster.onMissed(() => count++);
      await place.interrupt?.(b.storage);
      const received = receivedUntilEnd(a);
      b.cluster.publish(end);
      await received;
      assert.equal(count, 0);
    }),
  },
  {
    id: "shared.missed.waiting",
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
