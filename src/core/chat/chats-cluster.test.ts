// Two processes of one place: one erases, the other writes at the worst moment.
import assert from "node:assert/strict";
import { test } from "node:test";
import { changed } from "../../../test/support/changed.ts";
import { HeldClock } from "../../../test/support/held-clock.ts";
import { MemoryPlace, openMemoryProcess } from "../../../test/support/memory-place.ts";
import { silentLogger } from "../logger.ts";
import type { LogStore } from "../storage/log-store.ts";
import { silentTelemetry } from "../telemetry.ts";
import { systemTimers } from "../timers.ts";
import { chatProjection } from "./chat-head.ts";
import { chatsCollection } from "./chat-log.ts";
import { Chats } from "./chats.ts";

const chat = "telegram:42";
const secret = /secret/;

/** What a process does first at its next calls of this name, one for each. */
type Before = Partial<Record<keyof LogStore, (() => unknown)[]>>;

/** One process; each has a clock of its own. */
function process(place: MemoryPlace, name: string, ms = 0) {
  const storage = openMemoryProcess({ place });
  const store = storage.logs(chatsCollection, chatProjection);
  const before: Before = {};
  const logs = changed(store, (called) => {
    const first = before[called as keyof LogStore]?.shift();
    const call: unknown = Reflect.get(store, called);
    if (first === undefined || typeof call !== "function") return undefined;
    return async (...args: unknown[]) => {
      await first();
      return call.apply(store, args);
    };
  });
  const clock = new HeldClock();
  clock.pass(ms);
  let ids = 0;
  const newId = () => `${name}-${++ids}`;
  const silent = { logger: silentLogger, telemetry: silentTelemetry };
  const ports = { ...silent, clock, timers: systemTimers, newId };
  const { leases, cluster } = storage;
  const files = () => storage.files("chats");
  const logsOf = (name: string) =>
    name === chatsCollection ? logs : storage.logs(name, chatProjection);
  const chats = new Chats({ logs: logsOf, leases, cluster, files }, ports);
  return { chats, before };
}

/** Two processes, and a chat whose title is from the message that is to go. */
async function two() {
  const place = new MemoryPlace();
  const [a, b] = [process(place, "a"), process(place, "b", 7)];
  await a.chats.append(chat, [
    { role: "user", content: "my secret", id: "m1" },
    { role: "assistant", content: "I see", id: "m2" },
    { role: "user", content: "And the sea?", id: "m3" },
  ]);
  await a.chats.setConsolidated(chat, 2);
  const stored = async () => {
    const { head } = await b.chats.existing(chat);
    return { head, records: await Array.fromAsync(b.chats.records(chat)) };
  };
  return { a, b, stored };
}

type Change = (by: ReturnType<typeof process>) => Promise<unknown>;
/** What may come between, and what of the head is to be as it made it. */
const changes: Record<string, readonly [Change, kept: object]> = {
  "a title": [({ chats }) => chats.rename(chat, "Stars"), { title: "Stars", message_count: 2 }],
  metadata: [
    ({ chats }) => chats.setMetadata(chat, { pinned: true }),
    { title: "", metadata: { pinned: true }, message_count: 2 },
  ],
  "a message that waits": [
    ({ chats }) =>
      chats.changeExisting(chat, (transaction) => {
        transaction.control("pending_input", { content: "Wait" }, "pending:m4");
        transaction.set({ pending: ["m4"] });
      }),
    { title: "", pending: ["m4"], message_count: 2 },
  ],
  "a message": [
    ({ chats }) => chats.append(chat, [{ role: "assistant", content: "Hm", id: "m5" }]),
    { title: "", message_count: 3 },
  ],
};

for (const [what, [change, kept]] of Object.entries(changes)) {
  const isKept = async (stored: Awaited<ReturnType<typeof two>>["stored"]) => {
    const { head, records } = await stored();
    assert.doesNotMatch(JSON.stringify([head, records]), secret);
    assert.deepEqual({ ...head, ...kept }, head);
    assert.equal(head.last_consolidated, 1);
  };

  for (const moment of ["find", "append", "erase"] as const) {
    test(`${what} that another process stores before the ${moment} of an erasure is kept`, async () => {
      const { a, b, stored } = await two();
      a.before[moment] = [() => change(b)];
      assert.equal((await a.chats.erase(chat, "m1")).erased, true);
      await isKept(stored);
    });
  }

  test(`${what} that was decided before an erasure is stored after it without the erased words`, async () => {
    const { a, b, stored } = await two();
    b.before.append = [() => a.chats.erase(chat, "m1")];
    await change(b);
    await isKept(stored);
  });
}

test("a title that is taken back while another process erases the words that it would be made of", async () => {
  const { a, b, stored } = await two();
  await a.chats.rename(chat, "Stars");
  const [decided, erased] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let renaming: Promise<void> | undefined;
  // Read when the erasure has begun, stored when it is over.
  b.before.append = [
    () => {
      decided.resolve();
      return erased.promise;
    },
  ];
  a.before.erase = [
    () => {
      renaming = b.chats.rename(chat, "");
      return decided.promise;
    },
  ];
  assert.equal((await a.chats.erase(chat, "m1")).erased, true);
  erased.resolve();
  await renaming;
  const { head } = await stored();
  assert.deepEqual([head.title, head.title_of], ["And the sea?", "m3"]);
});

test("an erasure that others come before 100 times is a conflict: nothing is removed, and the next one does", async () => {
  const { a, b, stored } = await two();
  a.before.erase = Array.from({ length: 100 }, (_, n) => () => b.chats.rename(chat, `title ${n}`));
  await assert.rejects(a.chats.erase(chat, "m1"), { code: "THROUGHLINE_CONFLICT" });
  assert.match(JSON.stringify(await stored()), secret);
  assert.equal(a.before.erase.length, 0);
  assert.equal((await a.chats.erase(chat, "m1")).erased, true);
  const { head, records } = await stored();
  assert.doesNotMatch(JSON.stringify([head, records]), secret);
  assert.deepEqual([head.title, head.message_count, head.last_consolidated], ["title 99", 2, 1]);
});

test("an erasure that was cut off is finished by another process, and counts the message once", async () => {
  const { a, b, stored } = await two();
  a.before.erase = [() => Promise.reject(new Error("killed"))];
  await assert.rejects(a.chats.erase(chat, "m1"), { message: "killed" });
  assert.equal((await b.chats.erase(chat, "m1")).erased, true);
  const { head, records } = await stored();
  assert.doesNotMatch(JSON.stringify([head, records]), secret);
  assert.deepEqual([head.message_count, head.last_consolidated], [2, 1]);
});
