// The contract of an extension, by one that does nothing but note what it is asked for.
import assert from "node:assert/strict";
import { test } from "node:test";
import { temporaryDirectory } from "../../test/support/command-line.ts";
import { scriptedResponder } from "../../test/support/scripted-responder.ts";
import type { Removed } from "./chat/tombstones.ts";
import { type Extension, noHooks, noPart, type TurnHooks, type TurnPart } from "./extension.ts";
import { openThroughline, type Throughline } from "./throughline.ts";

const chat = "local:me";

interface Fake {
  readonly remove?: () => Promise<readonly Removed[]>;
  readonly hooks?: () => TurnHooks;
  readonly dispose?: () => Promise<void>;
}

/** Adds an extension that notes what happens to it. @returns what did as it was added. */
async function extend(throughline: Throughline, name: string, seen: string[], fake: Fake = {}) {
  const extension: Extension = {
    remove: async ({ loss, chatId, messageId }) => {
      seen.push(`${name} ${loss} ${chatId} ${messageId ?? "-"}`);
      return fake.remove?.() ?? [{ place: name, count: 1 }];
    },
    preview: async () => noPart,
    catchUp: async (read) => {
      const forgotten = await read();
      seen.push(`${name} catches up ${forgotten.at(chat) === undefined ? "nothing" : chat}`);
    },
    turn: () => fake.hooks?.() ?? noHooks,
    [Symbol.asyncDispose]: async () => {
      seen.push(`${name} ends`);
      await fake.dispose?.();
    },
  };
  await throughline.extend(name, async () => extension);
  return seen.splice(0);
}

const hello = [{ id: "m1", role: "user", content: "Hello" }] as const;

test("every loss reaches every extension, and its rows are in the receipt", async () => {
  await using throughline = await openThroughline({ storage: "memory" });
  const { chats } = throughline;
  const seen: string[] = [];
  await extend(throughline, "one", seen);
  await extend(throughline, "two", seen);
  await chats.append(chat, hello);
  const erased = await chats.erase(chat, "m1");
  assert.deepEqual(erased.removed.slice(-2), [
    { place: "one", count: 1 },
    { place: "two", count: 1 },
  ]);
  await chats.clear(chat);
  const { removed } = await chats.forget(chat);
  assert.ok(removed.some(({ place }) => place === "two"));
  for (const name of ["one", "two"]) {
    const told = seen.filter((line) => line.startsWith(name));
    const losses = [`erase ${chat} m1`, `clear ${chat} -`, `forget ${chat} -`];
    const expected = losses.map((loss) => `${name} ${loss}`);
    assert.deepEqual(told, expected);
  }
});

test("an extension that fails to remove is named in the receipt, and the others remove", async () => {
  await using throughline = await openThroughline({ storage: "memory" });
  const { chats } = throughline;
  const seen: string[] = [];
  await extend(throughline, "broken", seen, { remove: () => Promise.reject(new Error("no")) });
  await extend(throughline, "whole", seen);
  await chats.append(chat, hello);
  const erased = await chats.erase(chat, "m1");
  assert.deepEqual(erased.unreachable, ["broken: not removed; repeat this"]);
  const { removed, unreachable } = await chats.forget(chat);
  assert.deepEqual(unreachable, ["broken: not removed; tried again at its next start"]);
  assert.deepEqual(removed.at(-1), { place: "whole", count: 1 });
  await assert.rejects(chats.messages(chat), { code: "THROUGHLINE_NOT_FOUND" });
});

test("what extensions say of a turn goes to the model, and they hear how it ended", async () => {
  await using throughline = await openThroughline({ storage: "memory" });
  const heard: unknown[] = [];
  const part: TurnPart = {
    instructions: "You like tea.",
    notes: ["It rains."],
    context: "(a block)",
    acknowledged: 7,
  };
  const hooks = () => ({
    begun: async ({ user, acknowledged }: Parameters<TurnHooks["begun"]>[0]) => {
      heard.push([user.content, acknowledged]);
      return part;
    },
    ended: (answer: Parameters<TurnHooks["ended"]>[0]) => void heard.push(answer?.content),
  });
  await extend(throughline, "one", [], { hooks });
  await extend(throughline, "two", []);
  const model = scriptedResponder([["Hi"], ["Ho"]]);
  const turns = await throughline.turns({ model, persona: "You are kind." });
  await turns.submit(chat, { content: "Hello" }).done;
  await turns.submit(chat, { content: "Again" }).done;
  assert.deepEqual(heard, [["Hello", undefined], "Hi", ["Again", 7], "Ho"]);
  const [request] = model.requests;
  assert.equal(request?.instructions, "You are kind.\n\nYou like tea.");
  assert.match(request?.context ?? "", /\nIt rains\.\n.*>>>\n\n\(a block\)$/);
  assert.equal((await throughline.chats.existing(chat)).head.told_session, 7);
});

for (const [what, hooks] of [
  ["to take part", () => assert.fail("no")],
  ["as it begins", () => ({ ...noHooks, begun: () => Promise.reject(new Error("no")) })],
  ["at once as it begins", () => ({ ...noHooks, begun: () => assert.fail("no") })],
  ["as it ends", () => ({ ...noHooks, ended: () => assert.fail("no") })],
] as const) {
  test(`a turn is answered when an extension fails ${what}`, async () => {
    const errors: string[] = [];
    const silent = { debug: () => {}, info: () => {}, warn: () => {} };
    const logger = { ...silent, error: (_: object, message: string) => void errors.push(message) };
    await using throughline = await openThroughline({ storage: "memory", logger });
    await extend(throughline, "broken", [], { hooks });
    const begun: string[] = [];
    const listens = { begun: async () => noPart, ended: () => void begun.push("ended") };
    await extend(throughline, "whole", [], { hooks: () => listens });
    const turns = await throughline.turns({ model: scriptedResponder([["Hi"]]) });
    const { assistant } = await turns.submit(chat, { content: "Hello" }).done;
    assert.equal(assistant?.content, "Hi");
    assert.deepEqual(begun, ["ended"]);
    assert.deepEqual(errors, ["an extension failed in a turn, which continues without it"]);
  });
}

test("an extension hears that a turn ended without an answer that is stored", async () => {
  await using throughline = await openThroughline({ storage: "memory" });
  const ended: unknown[] = [];
  const hooks = () => ({
    begun: async () => {
      await throughline.chats.forget(chat);
      return noPart;
    },
    ended: (answer: unknown) => void ended.push(answer),
  });
  await extend(throughline, "one", [], { hooks });
  const turns = await throughline.turns({ model: scriptedResponder([["Hi"]]) });
  await assert.rejects(turns.submit(chat, { content: "Hello" }).done);
  assert.deepEqual(ended, [undefined]);
});

test("closing ends extensions, the newest first, also after one that fails", async () => {
  const throughline = await openThroughline({ storage: "memory" });
  const seen: string[] = [];
  await extend(throughline, "first", seen);
  const dispose = () => Promise.reject(new Error("it broke"));
  await extend(throughline, "second", seen, { dispose });
  await extend(throughline, "third", seen);
  await assert.rejects(throughline.close(), /it broke/);
  assert.deepEqual(seen, ["third ends", "second ends", "first ends"]);
  const late = throughline.extend("late", () => assert.fail("opened"));
  await assert.rejects(late, { code: "THROUGHLINE_CLOSED" });
});

test("an extension is added once; one that could not be opened can be tried again", async () => {
  await using throughline = await openThroughline({ storage: "memory" });
  const opening = throughline.extend("one", () => Promise.reject(new Error("not yet")));
  await assert.rejects(opening, /not yet/);
  await extend(throughline, "one", []);
  await assert.rejects(extend(throughline, "one", []), {
    code: "THROUGHLINE_CONFLICT",
    message: "one: already started on this Throughline",
  });
});

test("a chat that is forgotten while an extension is not loaded is its to remove at its next start, once", async (t) => {
  const home = temporaryDirectory(t);
  const caughtUp = async () => {
    await using throughline = await openThroughline({ home });
    return await extend(throughline, "one", []);
  };
  assert.deepEqual(await caughtUp(), ["one catches up nothing"]);
  {
    await using bare = await openThroughline({ home });
    await bare.chats.append(chat, hello);
    const { unreachable } = await bare.chats.erase(chat, "m1");
    const away = "one: kept here, and not loaded in this process";
    assert.deepEqual(unreachable, [`${away}; repeat this where it is loaded`]);
    const receipt = await bare.chats.forget(chat);
    assert.deepEqual(receipt.unreachable, [`${away}; removed when it is next started`]);
  }
  assert.deepEqual(await caughtUp(), [`one catches up ${chat}`]);
  assert.deepEqual(await caughtUp(), ["one catches up nothing"]);
});
