import assert from "node:assert/strict";
import { test } from "node:test";
import type { StoredRecord } from "../storage/log-store.ts";
import { type ChatHead, readHead, startFor } from "./chat-head.ts";
import { readHistory } from "./history.ts";

const target = { provider: "openai", model: "gpt-5" };
const record = (seq: number): StoredRecord => {
  const role = seq % 2 === 1 ? "user" : "assistant";
  return { id: `m${seq}`, seq, role, content: "x" };
};
const summary = { id: "s", upToSeq: 490, text: "they met" };

const table = [
  { says: "to where it began", options: { startSeq: 450 }, pages: 1, fromSeq: 451 },
  { says: "past a page", options: { startSeq: 250 }, pages: 2, fromSeq: 251 },
  { says: "to the turn in which a summary ends", options: { summary }, pages: 1, fromSeq: 491 },
  { says: "as a whole where nothing ends it", options: {}, pages: 3, fromSeq: 1 },
];
for (const { says, options, pages, fromSeq } of table) {
  test(`a history is read ${says}`, async () => {
    const records = Array.from({ length: 500 }, (_, i) => record(i + 1));
    let read = 0;
    const page = async (
      _: string,
      { before = 501, limit }: { before?: number | undefined; limit: number },
    ) => {
      read++;
      return records.filter(({ seq }) => seq < before).slice(-limit);
    };
    const view = await readHistory({ page }, "chat", { ...target, ...options });
    assert.deepEqual([read, view.fromSeq], [pages, fromSeq]);
  });
}

const session = { generation: 1, start_seq: 4 };
const starts = [
  { says: "at its period", head: { session }, start: 4 },
  { says: "after a clear", head: { session, clear_seq: 7 }, start: 7 },
  { says: "after its own reset", head: { clear_seq: 2, provider_start: { openai: 9 } }, start: 9 },
  { says: "where no other provider was reset", head: { provider_start: { codex: 9 } }, start: 0 },
];
for (const { says, head, start } of starts) {
  test(`a provider's part of a chat begins ${says}`, () => {
    assert.equal(startFor({ ...readHead({}), ...head } as ChatHead, "openai"), start);
  });
}
