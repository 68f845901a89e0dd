// Random histories of a companion, and all that a storage holds of them.
import fc from "fast-check";
import { startCompanion } from "../../src/companion/start-companion.ts";
import { moveUnderWay } from "../../src/core/chat/move-under-way.ts";
import { isThroughlineError } from "../../src/core/errors.ts";
import { LocalCluster, LocalLeases } from "../../src/core/storage/one-process.ts";
import type { Storage } from "../../src/core/storage/storage.ts";
import { openThroughline, type Throughline } from "../../src/core/throughline.ts";
import { exportChats } from "../../src/interchange/export.ts";
import { copyCompanion } from "../../src/postgres/move/copy-companion.ts";
import { everyLog } from "../../src/postgres/move/places.ts";
import { changed } from "./changed.ts";
import { HeldClock } from "./held-clock.ts";
import { HeldTimers } from "./held-timers.ts";
import { kept } from "./kept-storage.ts";
import { Stopped, stoppingStorage } from "./stopping-storage.ts";

/** Something that somebody does to a companion. */
export type Step = (throughline: Throughline, clock: HeldClock) => Promise<unknown>;

const chatIds = ["telegram:42", "local:me", "__proto__"] as const;
const chat = fc.constantFrom(...chatIds);
const unit = fc.oneof(
  fc.constantFrom("a", "é", "\u2028", "\0", '"', "\\", "😀", "\n"),
  fc.nat({ max: 0xffff }).map((code) => String.fromCharCode(code)),
);
const content = fc.string({ unit, maxLength: 20 });

/** The newest message of a chat, if it has one. */
async function newestId({ chats }: Throughline, chatId: string): Promise<string | undefined> {
  const page = await chats.messages(chatId).catch(orNone);
  return page?.messages.findLast(({ redacted }) => redacted !== true)?.id;
}

function orNone(error: unknown): undefined {
  if (!isThroughlineError(error)) throw error;
}

export const onNewest =
  (chatId: string, work: (throughline: Throughline, id: string) => Promise<unknown>): Step =>
  async (throughline) => {
    const id = await newestId(throughline, chatId);
    if (id !== undefined) await work(throughline, id);
  };

export const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(chat, content).map(([id, text]) => say(id, text)) },
  { weight: 1, arbitrary: fc.tuple(chat, fc.integer({ min: 250, max: 300 })).map(sayMany) },
  fc.tuple(chat).map(([id]) => onNewest(id, ({ chats }, message) => chats.takeBack(id, [message]))),
  fc.tuple(chat).map(([id]) => onNewest(id, ({ chats }, message) => chats.erase(id, message))),
  fc.tuple(chat).map(([id]) => onNewest(id, ({ chats }) => chats.clear(id))),
  fc.tuple(chat).map(([id]) => onNewest(id, ({ chats }) => chats.forget(id))),
  fc
    .tuple(chat, content)
    .map(([id, text]) =>
      onNewest(id, ({ chats }) =>
        chats.setMetadata(id, { "10": text, "9": [null, { b: 1, a: 2 }] }),
      ),
    ),
  fc.tuple(chat, content).map(([id, text]) => sendFile(id, text)),
  fc.constant<Step>(({ sessions }) => sessions.reset("local:me").catch(orNone)),
);

export function say(chatId: string, text: string): Step {
  return ({ chats }, clock) => {
    clock.pass(1_000);
    return chats.append(chatId, [{ role: "user", content: text, mine: { z: 1, a: text } }]);
  };
}

export function sendFile(chatId: string, text: string): Step {
  return async ({ chats }) => {
    const bytes = Buffer.from(`the picture ${text}`);
    const sha256 = await chats.files.put(chatId, bytes);
    const file = { name: "a.png", type: "image/png", size: bytes.length, sha256 };
    await chats.append(chatId, [{ role: "user", content: text, attachments: [file] }]);
  };
}

/** More than one append of a copy takes. */
export function sayMany([chatId, count]: [string, number]): Step {
  return ({ chats }) =>
    chats.append(
      chatId,
      Array.from({ length: count }, (_, index) => ({ role: "user" as const, content: `${index}` })),
    );
}

/** One run of a companion, with what is done to it. */
export async function live(storage: Storage, steps: readonly Step[], at: string): Promise<void> {
  const clock = new HeldClock(at);
  const timers = new HeldTimers(clock);
  // The same steps make the same ids, in any storage.
  let ids = 0;
  const newId = () => `${Date.parse(at)}-${++ids}`;
  // As one process alone has it: several of them keep records that one does not need.
  const alone = changed(kept(storage), {
    leases: new LocalLeases(),
    cluster: new LocalCluster(),
  });
  const throughline = await openThroughline({ storage: alone, clock, timers, newId });
  const companion = await startCompanion(throughline);
  for (const each of steps) await each(throughline, clock);
  companion.emotions.event("pat_level1", 1);
  await throughline.close();
}

/** All that a storage holds, as text: as `throughline export` writes it, and the rest as it reads. */
export async function everything(storage: Storage): Promise<readonly string[]> {
  const lines: string[] = [];
  const { chats } = await openThroughline({ storage: kept(storage) });
  for await (const { name, pieces } of exportChats(chats, { format: "throughline" })) {
    lines.push(name, ...(await Array.fromAsync(pieces)));
  }
  for await (const { place, logs, row } of everyLog(storage)) {
    lines.push(`${place.collection}/${row.key}`, JSON.stringify(row));
    for await (const record of logs.read(row.key)) lines.push(JSON.stringify(record));
  }
  const files = storage.files("chats");
  for (const key of (await Array.fromAsync(files.keys())).sort()) {
    for (const { sha256 } of await files.list(key)) {
      lines.push(key, sha256, String(Buffer.from((await files.get(key, sha256)) ?? [])));
    }
  }
  const documents = storage.documents("session");
  for (const key of await documents.keys()) {
    lines.push(key, JSON.stringify((await documents.read(key))?.value));
  }
  return lines;
}

/** Copies into a target, killed at its first write, its second and so on; each time another process starts over. */
export async function copyKilled(
  from: Storage,
  to: Storage,
  when: "before" | "after",
): Promise<number> {
  for (let kills = 0; kills < 1_000; kills++) {
    const target = stoppingStorage(to, { write: kills + 1, when });
    try {
      await copyCompanion(from, target);
      return kills;
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
      if (kills > 0 && (await moveUnderWay(to)) === undefined) return kills; // at its last write
    }
  }
  throw new Error("a copy that makes no progress");
}
