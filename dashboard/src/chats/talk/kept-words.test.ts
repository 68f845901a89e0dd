import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { dropWords, keepWords, keptChats, keptWords, typedChat, type Words } from "./kept-words.ts";

const storageKey = "throughline-words";
const words = (draft: string, more: Partial<Words> = {}): Words => ({
  draft,
  edits: [],
  waiting: [],
  isBegun: true,
  ...more,
});

/** A browser's storage, of which nothing is left after the test. */
function storage(t: TestContext, setItem?: () => void): Map<string, string> {
  const items = new Map<string, string>();
  const fake = {
    getItem: (key: string) => items.get(key) ?? null,
    removeItem: (key: string) => void items.delete(key),
    setItem: setItem ?? ((key: string, value: string) => void items.set(key, value)),
  };
  Object.defineProperty(globalThis, "sessionStorage", { value: fake, configurable: true });
  t.after(() => {
    for (const chatId of keptChats()) dropWords(chatId);
    Object.defineProperty(globalThis, "sessionStorage", { value: undefined, configurable: true });
  });
  return items;
}

const stored = (items: Map<string, string>) =>
  (JSON.parse(items.get(storageKey) ?? "[]") as [string, Words][]).map(([chatId]) => chatId);

test("the words of the newest 20 chats are kept, and of none where nothing is left", (t) => {
  const items = storage(t);
  for (let n = 1; n <= 22; n++) keepWords(`chat ${n}`, words("typed"));
  keepWords("chat 3", words("typed on"));
  assert.equal(stored(items).length, 20);
  assert.deepEqual([stored(items)[0], stored(items).at(-1)], ["chat 4", "chat 3"]);
  for (let n = 1; n <= 22; n++) keepWords(`chat ${n}`, words(""));
  assert.equal(items.size, 0);
});

test("no more than 1 MiB is kept, the newest first", (t) => {
  const items = storage(t);
  keepWords("old", words("x".repeat(200_000)));
  keepWords("small", words("typed"));
  keepWords("new", words("x".repeat(400_000)));
  assert.deepEqual(stored(items), ["small", "new"]);
  keepWords("too large", words("x".repeat(600_000)));
  assert.deepEqual(stored(items), ["small", "new"]);
});

test("a browser that keeps nothing is no error, and older words are not left in it", (t) => {
  storage(t, () => {
    throw new DOMException("full", "QuotaExceededError");
  });
  keepWords("chat", words("typed"));
  assert.equal(keptWords("chat")?.draft, "typed");
});

test("what was not confirmed may have arrived; why another was refused is still known", (t) => {
  storage(t);
  const failed = (key: string, status: number) => ({
    key,
    content: key,
    state: "failed" as const,
    error: { status, code: "X", detail: "too long" },
  });
  const sending = { key: "a", content: "a", state: "sending" } as const;
  keepWords("chat", words("", { waiting: [sending, failed("b", 0), failed("c", 413)] }));
  const kept = keptWords("chat")?.waiting ?? [];
  assert.deepEqual(
    kept.map(({ key, state }) => `${key} ${state}`),
    ["a unsure", "b unsure", "c failed"],
  );
  assert.match(String(kept[2]?.error), /too long/);
});

test("a new chat continues where something was typed and nothing sent", (t) => {
  storage(t);
  const sending = [{ key: "a", content: "one", state: "sending" }] as const;
  keepWords("typed", words("typed", { isBegun: false }));
  keepWords("begun", words("typed"));
  keepWords("sending", words("", { isBegun: false, waiting: sending }));
  keepWords("local:me", words("typed", { isBegun: false }));
  assert.equal(typedChat(), "typed");
  dropWords("typed");
  assert.equal(typedChat(), undefined);
});
