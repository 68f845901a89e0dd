import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { chatsWithDrafts, type Drafts, draftsOf, newestUnsentChat, saveDrafts } from "./drafts.ts";

const storageKey = "throughline-words";
const words = (draft: string, more: Partial<Drafts> = {}): Drafts => ({
  draft,
  edits: [],
  waiting: [],
  isBegun: true,
  ...more,
});

const nothing = words("");

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
    for (const chatId of chatsWithDrafts()) saveDrafts(chatId, nothing);
    Object.defineProperty(globalThis, "sessionStorage", { value: undefined, configurable: true });
  });
  return items;
}

const stored = (items: Map<string, string>) =>
  (JSON.parse(items.get(storageKey) ?? "[]") as [string, Drafts][]).map(([chatId]) => chatId);

test("the words of the newest 20 chats are kept, and of none where nothing is left", (t) => {
  const items = storage(t);
  for (let n = 1; n <= 22; n++) saveDrafts(`chat ${n}`, words("typed"));
  saveDrafts("chat 3", words("typed on"));
  assert.equal(stored(items).length, 20);
  assert.deepEqual([stored(items)[0], stored(items).at(-1)], ["chat 4", "chat 3"]);
  for (let n = 1; n <= 22; n++) saveDrafts(`chat ${n}`, words(""));
  assert.equal(items.size, 0);
});

test("no more than 1 MiB is kept, the newest first", (t) => {
  const items = storage(t);
  saveDrafts("old", words("x".repeat(200_000)));
  saveDrafts("small", words("typed"));
  saveDrafts("new", words("x".repeat(400_000)));
  assert.deepEqual(stored(items), ["small", "new"]);
  saveDrafts("too large", words("x".repeat(600_000)));
  assert.deepEqual(stored(items), ["small", "new"]);
});

test("a browser that keeps nothing is no error, and older words are not left in it", (t) => {
  storage(t, () => {
    throw new DOMException("full", "QuotaExceededError");
  });
  saveDrafts("chat", words("typed"));
  assert.equal(draftsOf("chat")?.draft, "typed");
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
  saveDrafts("chat", words("", { waiting: [sending, failed("b", 0), failed("c", 413)] }));
  const kept = draftsOf("chat")?.waiting ?? [];
  assert.deepEqual(
    kept.map(({ key, state }) => `${key} ${state}`),
    ["a unsure", "b unsure", "c failed"],
  );
  assert.match(String(kept[2]?.error), /too long/);
});

test("a new chat continues where something was typed and nothing sent", (t) => {
  storage(t);
  const sending = [{ key: "a", content: "one", state: "sending" }] as const;
  saveDrafts("typed", words("typed", { isBegun: false }));
  saveDrafts("begun", words("typed"));
  saveDrafts("sending", words("", { isBegun: false, waiting: sending }));
  saveDrafts("local:me", words("typed", { isBegun: false }));
  assert.equal(newestUnsentChat(), "typed");
  saveDrafts("typed", nothing);
  assert.equal(newestUnsentChat(), undefined);
});

test("a model that was chosen for a chat is kept, and makes it no chat in which something was typed", (t) => {
  const items = storage(t);
  const model = { provider: "ollama", model: "qwen3" };
  saveDrafts("chosen", words("", { isBegun: false, model }));
  assert.deepEqual(draftsOf("chosen")?.model, model);
  assert.deepEqual(stored(items), ["chosen"]);
  assert.equal(newestUnsentChat(), undefined);
  saveDrafts("chosen", words("", { isBegun: false }));
  assert.equal(items.size, 0);
});
