import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { firstTrigger, samplePackage } from "../../../test/support/feedback-packages.ts";
import type { Manifest } from "../package/record.ts";
import { type ExportFilters, isLatestOf, matches } from "./selection.ts";

describe("a filter", () => {
  const atMs = firstTrigger * 1_000;
  const rows: readonly (readonly [filters: ExportFilters, manifest: Partial<Manifest>, boolean])[] =
    [
      [{}, {}, true],
      [{ sentiment: "positive" }, {}, true],
      [{ sentiment: "negative" }, {}, false],
      [{ since: atMs }, {}, true],
      [{ since: atMs + 1 }, {}, false],
      [{ until: atMs + 1 }, {}, true],
      [{ until: atMs }, {}, false],
      [{ chat: "local:me" }, {}, true],
      [{ chat: "local:me" }, { chat_id: null }, false],
      [{ person: "ADA" }, {}, true],
      [{ person: "Ada" }, { people: [] }, false],
      [{ source: "skill" }, {}, true],
      [{ source: "http" }, {}, false],
      [{ minScore: 0.5 }, { score: 0.5 }, true],
      [{ minScore: 0.5 }, { score: -0.7 }, true],
      [{ minScore: 0.5 }, { score: 0.4 }, false],
      [{ sentiment: "positive", source: "http" }, {}, false],
    ];
  for (const [filters, change, passes] of rows) {
    test(`${JSON.stringify(filters)} ${passes ? "takes" : "leaves"} a moment with ${JSON.stringify(change)}`, () => {
      assert.equal(matches(samplePackage(0, { manifest: change }).manifest, filters), passes);
    });
  }
});

describe("of several judgements", () => {
  const judgement = (name: string, timestamp: number, turn: string | null, chat_id = "c") => {
    const { target } = samplePackage(0).manifest;
    assert.ok(target !== null);
    return { name, timestamp, chat_id, target: { ...target, turn_id: turn } };
  };
  const latest = (all: readonly ReturnType<typeof judgement>[]) =>
    all.filter(isLatestOf(all)).map(({ name }) => name);

  test("of one turn the latest counts, in whatever order they come", () => {
    const all = [judgement("b", 2, "t"), judgement("c", 3, "t"), judgement("a", 1, "t")];
    assert.deepEqual(latest(all), ["c"]);
    assert.deepEqual(latest(all.toReversed()), ["c"]);
  });
  test("at one instant the last name counts", () => {
    assert.deepEqual(latest([judgement("b", 1, "t"), judgement("a", 1, "t")]), ["b"]);
  });
  test("of turns of two chats both count", () => {
    assert.deepEqual(latest([judgement("a", 1, "t", "x"), judgement("b", 1, "t", "y")]), [
      "a",
      "b",
    ]);
  });
  test("of a turn without an id the message tells them apart", () => {
    assert.deepEqual(latest([judgement("a", 1, null), judgement("b", 2, null)]), ["b"]);
  });
  test("those without a target all count", () => {
    const none = { timestamp: 1, chat_id: "c", target: null };
    const all = ["a", "b"].map((name) => ({ name, ...none }));
    assert.ok(all.every(isLatestOf(all)));
  });
});
