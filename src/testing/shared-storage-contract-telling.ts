import assert from "node:assert/strict";
import { isThroughlineError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import { textCorpus, valueCorpus } from "./corpus.ts";
import { chat, idsIn, messages, scribbleOn, untyped } from "./log-store-contract-fixtures.ts";
import {
  chatLease,
  end,
  heardUntilEnd,
  join,
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

const hearing: readonly SharedClause[] = [
  {
    id: "shared.tell.others",
    says: "what one process tells, each other one hears once, with who told it; itself it hears not",
    proof: withFour(async (writers) => {
      const [teller, ...others] = writers;
      const { cluster } = teller ?? assert.fail();
      const own = heardUntilEnd(teller ?? assert.fail());
      const heard = others.map((writer) => heardUntilEnd(writer));
      cluster.publish({ n: 1 });
      cluster.publish({ n: 2 });
      cluster.publish(end);
      const { processId } = cluster;
      const expected = [
        { message: { n: 1 }, processId },
        { message: { n: 2 }, processId },
      ];
      for (const told of heard) assert.deepEqual(await told, expected);
      others[0]?.cluster.publish(end);
      assert.deepEqual(await own, []);
    }),
  },
  {
    id: "shared.tell.order",
    says: "100 messages that one process tells are heard in their order",
    proof: withTwo(async (a, b) => {
      const heard = heardUntilEnd(b);
      for (const n of upTo(100)) a.cluster.publish({ n });
      a.cluster.publish(end);
      assert.deepEqual(
        (await heard).map(({ message }) => message["n"]),
        upTo(100),
      );
    }),
  },
  {
    id: "shared.tell.all-at-once",
    says: "what four processes tell at once, each hears from every other in order and once",
    proof: withFour(async (writers) => {
      const heard = writers.map((writer) => heardUntilEnd(writer, 3));
      for (const n of upTo(20)) for (const { cluster } of writers) cluster.publish({ n });
      for (const { cluster } of writers) cluster.publish(end);
      for (const [index, told] of (await Promise.all(heard)).entries()) {
        const others = writers.filter((_, other) => other !== index);
        assert.equal(told.length, 60);
        for (const { cluster } of others) {
          const from = told.filter(({ processId }) => processId === cluster.processId);
          assert.deepEqual(
            from.map(({ message }) => message["n"]),
            upTo(20),
          );
        }
      }
    }),
  },
  {
    id: "shared.tell.answers",
    says: "a process that hears a message tells one back, and is heard",
    proof: withTwo(async (a, b) => {
      b.cluster.subscribe((message) => b.cluster.publish({ heard: message }));
      const answered = new Promise((resolve) => a.cluster.subscribe(resolve));
      a.cluster.publish({ n: 1 });
      assert.deepEqual(await answered, { heard: { n: 1 } });
    }),
  },
  {
    id: "shared.tell.after-append",
    says: "a subscriber that hears of an append that had answered reads what it stored",
    proof: withTwo(async (a, b) => {
      for (const n of upTo(10)) {
        const heard = heardUntilEnd(b);
        await a.log.append(chat, messages(n, n));
        a.cluster.publish(end);
        await heard;
        assert.equal((await idsIn(b.log)).length, n);
      }
    }),
  },
  {
    id: "shared.tell.late-joiner",
    says: "a process that joins later hears what is told from then on",
    proof: async (place) => {
      const a = await join(place);
      a.cluster.publish({ n: 1 });
      const b = await join(place);
      const heard = heardUntilEnd(b);
      a.cluster.publish({ n: 2 });
      a.cluster.publish(end);
      assert.deepEqual((await heard).at(-1)?.message, { n: 2 });
    },
  },
  {
    id: "shared.tell.process-ids",
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
    id: "shared.tell.sizes",
    says: "messages of 7,000 bytes to 1 MiB are heard whole, in order with short ones",
    proof: withTwo(async (a, b) => {
      const heard = heardUntilEnd(b);
      const sizes = [7_000, 7_899, 7_900, 7_999, 8_000, 8_001, 20_000, messageBytes];
      const told = sizes.flatMap((bytes) => [messageOf(bytes), { after: bytes }]);
      for (const message of told) a.cluster.publish(message);
      a.cluster.publish(end);
      assert.deepEqual(
        (await heard).map(({ message }) => message),
        told,
      );
    }),
  },
  {
    id: "shared.tell.text",
    says: "texts and values of every kind are heard equal",
    proof: withTwo(async (a, b) => {
      const heard = heardUntilEnd(b);
      const told = [
        ...textCorpus.map(({ text }) => ({ text })),
        ...valueCorpus.map(({ value }) => value),
      ];
      for (const message of told) a.cluster.publish(message);
      a.cluster.publish(end);
      const messages = (await heard).map(({ message }) => JSON.stringify(message));
      assert.deepEqual(
        messages,
        told.map((message) => JSON.stringify(message)),
      );
    }),
  },
  {
    id: "shared.tell.refused",
    says: "a message that is not a JSON object, or longer than 1 MiB, is refused and not delivered",
    proof: withTwo(async (a, b) => {
      const heard = heardUntilEnd(b);
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
      assert.deepEqual(await heard, []);
    }),
  },
  {
    id: "shared.tell.copied",
    says: "a message is copied when it is told, and each listener hears a copy of its own",
    proof: withTwo(async (a, b) => {
      const message = { list: [1, { n: 2 }] };
      b.cluster.subscribe((told) => scribbleOn(told));
      const heard = heardUntilEnd(b);
      a.cluster.publish(message);
      scribbleOn(message);
      a.cluster.publish(end);
      assert.deepEqual((await heard)[0]?.message, { list: [1, { n: 2 }] });
    }),
  },
];

const endings: readonly SharedClause[] = [
  {
    id: "shared.tell.listener-ends",
    says: "a listener that was ended hears nothing, and the others hear on",
    proof: withTwo(async (a, b) => {
      const told: JsonObject[] = [];
      const stop = b.cluster.subscribe((message) => told.push(message));
      const first = heardUntilEnd(b);
      a.cluster.publish(end);
      await first;
      stop();
      stop();
      const second = heardUntilEnd(b);
      a.cluster.publish({ n: 1 });
      a.cluster.publish(end);
      assert.equal((await second).length, 1);
      assert.deepEqual(told, [end]);
    }),
  },
  {
    id: "shared.tell.listener-throws",
    says: "a listener that throws keeps no other from hearing, nor itself from what comes next",
    proof: withTwo(async (a, b) => {
      let calls = 0;
      b.cluster.subscribe(() => {
        calls++;
        throw new Error("thrown by a listener");
      });
      const heard = heardUntilEnd(b);
      for (const n of upTo(3)) a.cluster.publish({ n });
      a.cluster.publish(end);
      assert.equal((await heard).length, 3);
      assert.equal(calls, 4);
    }),
  },
  {
    id: "shared.tell.closed-listener",
    says: "a process hears nothing after it was closed",
    proof: withThree(async (a, b, c) => {
      const told: JsonObject[] = [];
      b.cluster.subscribe((message) => told.push(message));
      await b.storage.close();
      b.cluster.subscribe((message) => told.push(message));
      const heard = heardUntilEnd(c);
      a.cluster.publish({ n: 1 });
      a.cluster.publish(end);
      await heard;
      assert.deepEqual(told, []);
    }),
  },
  {
    id: "shared.tell.closed-teller",
    says: "what a process tells after it was closed is not delivered, and is no error",
    proof: withThree(async (a, b, c) => {
      const heard = heardUntilEnd(b);
      await a.storage.close();
      a.cluster.publish({ n: 1 });
      c.cluster.publish(end);
      assert.deepEqual(await heard, []);
    }),
  },
  {
    id: "shared.tell.told-before-close",
    says: "what a process told before it was closed is heard",
    proof: withTwo(async (a, b) => {
      const heard = heardUntilEnd(b);
      for (const n of upTo(20)) a.cluster.publish({ n });
      a.cluster.publish(end);
      await a.storage.close();
      assert.equal((await heard).length, 20);
    }),
  },
];

const gaps: readonly SharedClause[] = [
  {
    id: "shared.gap.told",
    says: "a process that may have missed messages is told so, and hears again what comes next",
    interrupts: true,
    proof: withTwo(async (a, b, place) => {
      const gap = new Promise<void>((resolve) => b.cluster.onMissed(resolve));
      await place.interrupt?.(b.storage);
      await gap;
      const heard = heardUntilEnd(b);
      a.cluster.publish({ n: 1 });
      a.cluster.publish(end);
      assert.equal((await heard).length, 1);
    }),
  },
  {
    id: "shared.gap.only-where",
    says: "a process whose hearing was not cut is told of no gap, also while another's is",
    interrupts: true,
    proof: withTwo(async (a, b, place) => {
      let gaps = 0;
      a.cluster.onMissed(() => gaps++);
      await place.interrupt?.(b.storage);
      const heard = heardUntilEnd(a);
      b.cluster.publish(end);
      await heard;
      assert.equal(gaps, 0);
    }),
  },
  {
    id: "shared.gap.waiting",
    says: "a waiter for a name gets it also if its hearing is cut while it is released",
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

/** Telling the other processes. */
export const tellingClauses: readonly SharedClause[] = [
  ...hearing,
  ...contents,
  ...endings,
  ...gaps,
];
