// Two processes of one place: one erases, the other writes at the worst moment.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
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
  /** Waited for before and after each call, and each record that is read. */
  const hooks: { around?: () => Promise<void> } = {};
  const around = async <T>(call: () => T): Promise<Awaited<T>> => {
    await hooks.around?.();
    const made = await call();
    await hooks.around?.();
    return made;
  };
  async function* read(...args: Parameters<LogStore["read"]>) {
    const records = store.read(...args)[Symbol.asyncIterator]();
    const next = () => around(() => records.next());
    for (let one = await next(); one.done !== true; one = await next()) yield one.value;
  }
  const logs = changed(store, (called) => {
    if (called === "read") return read;
    const first = before[called as keyof LogStore]?.shift();
    const call: unknown = Reflect.get(store, called);
    if (typeof call !== "function") return undefined;
    return async (...args: unknown[]) => {
      await first?.();
      return around(() => call.apply(store, args));
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
  return { chats, before, hooks };
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

/** What happens to a chat while it is copied, and what holds then, whatever came first. */
const losses: Record<string, (chats: Chats) => Promise<unknown>> = {
  erase: (chats) => chats.erase(chat, "m1"),
  forget: (chats) => chats.forget(chat),
  "take back": (chats) => chats.takeBack(chat, ["m1"]),
  clear: (chats) => chats.clear(chat),
};

for (const [loss, lose] of Object.entries(losses)) {
  for (const origin of [chat, "between"]) {
    for (const by of ["this process", "another one"]) {
      test(`${loss} by ${by} at any moment of a fork of ${origin} loses and leaves nothing`, async () => {
        for (let at = 0, isOver = false; !isOver; at++) {
          const { a, b } = await two();
          if (origin !== chat) await a.chats.fork(chat, "m3", origin);
          let losing: Promise<unknown> | undefined;
          let calls = 0;
          a.hooks.around = async () => {
            if (calls++ !== at) return;
            losing = lose((by === "this process" ? a : b).chats);
            for (let pass = 0; pass < 50; pass++) await setImmediate();
          };
          const [forked] = await Promise.allSettled([a.chats.fork(origin, "m3", "copy")]);
          isOver = losing === undefined;
          const receipt = await losing;
          const copy = await b.chats.state("copy");
          const moment = `${at}: ${JSON.stringify([forked, receipt])}`;
          const isMade = forked.status === "fulfilled";
          assert.equal(copy.head !== undefined, isMade, moment);
          assert.equal(copy.head?.unfinished, undefined, moment);
          if (!isMade) assert.equal(forked.reason.code, "THROUGHLINE_NOT_FOUND", moment);
          const records = await Array.fromAsync(b.chats.logs.read("copy"));
          if (loss === "erase" && !isOver) {
            assert.doesNotMatch(JSON.stringify([copy.head, records]), secret, moment);
          }
          if (isMade)
            assert.ok(
              records.some(({ id }) => id === "m3"),
              moment,
            );
          if (loss === "erase" || loss === "take back") assert.ok(isMade, moment);
          if (loss !== "forget" || origin !== chat || isOver) continue;
          const { forks } = receipt as Awaited<ReturnType<Chats["forget"]>>;
          assert.equal(forks.includes("copy"), isMade, moment);
        }
      });
    }
  }
}
