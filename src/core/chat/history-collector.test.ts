import assert from "node:assert/strict";
import { test } from "node:test";
import { HistoryCollector } from "./history-collector.ts";

const target = { provider: "openai", model: "gpt-5" };

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
