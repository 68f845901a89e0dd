import assert from "node:assert/strict";
import { test } from "node:test";
import { isThroughlineError } from "../errors.ts";
import { MemoryLogStore } from "../storage/memory/memory-log-store.ts";
import { chatProjection } from "./chat-head.ts";
import { HistoryCollector, readHistory } from "./history-collector.ts";
import { historyView } from "./history-view.ts";

const target = { provider: "openai", model: "gpt-5" };

async function storeOf(turns: number): Promise<MemoryLogStore> {
  const store = new MemoryLogStore(chatProjection, () => undefined);
  for (let turn = 0; turn < turns; turn++) {
    await store.append("telegram:42", [
      { id: `u${turn}`, role: "user", content: `question ${turn}` },
      { id: `a${turn}`, role: "assistant", content: `answer ${turn}` },
    ]);
  }
  return store;
}

for (const turns of [0, 1, 99, 100, 101, 700]) {
  test(`a stored chat of ${turns} turns is read as the view of its whole log`, async () => {
    const store = await storeOf(turns);
    const records = await Array.fromAsync(store.read("telegram:42"));
    for (const budgetTokens of [0, 500, 24_000]) {
      const options = { ...target, budgetTokens };
      assert.deepEqual(
        await readHistory(store, "telegram:42", options),
        historyView(records, options),
      );
    }
  });
}

test("a chat that does not exist has an empty history", async () => {
  const store = await storeOf(0);
  const { messages, fromSeq } = await readHistory(store, "telegram:42", target);
  assert.deepEqual([messages, fromSeq], [[], 1]);
});

test("of a period of 10 records, 10 records and the one before them are enough", () => {
  const collector = new HistoryCollector({ ...target, startSeq: 90 });
  const record = (seq: number) => ({ id: `m${seq}`, seq, role: "user", content: "x" });
  const page = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, i) => record(from + i));
  assert.equal(collector.before, undefined);
  assert.equal(collector.add(page(96, 100)), false);
  assert.equal(collector.add(page(91, 95)), false);
  assert.equal(collector.before, 91);
  assert.equal(collector.add(page(86, 90)), true);
  assert.equal(collector.before, 90);
  assert.equal(collector.view().fromSeq, 91);
});

test("what a summary covers is not read, but for the turn that tells where it ends", () => {
  const collector = new HistoryCollector(target);
  const page = Array.from({ length: 50 }, (_, i) => ({
    id: `m${i + 51}`,
    seq: i + 51,
    role: i % 2 === 0 ? "user" : "assistant",
    content: "x",
  }));
  const compaction = { _type: "metadata", kind: "compaction", up_to_seq: 90, summary: "they met" };
  page.push({ id: "m101", seq: 101, ...compaction } as never);
  assert.equal(collector.add(page), true);
  assert.equal(collector.before, 89);
  assert.equal(collector.view().fromSeq, 91);
});

test("a collector with an option that is not valid is refused before anything is read", () => {
  assert.throws(
    () => new HistoryCollector({ ...target, lastMessages: 1.5 }),
    (error) => isThroughlineError(error, "THROUGHLINE_INVALID"),
  );
});
