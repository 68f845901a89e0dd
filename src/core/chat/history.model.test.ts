import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { JsonObject } from "../json.ts";
import type { StoredRecord } from "../storage/log-store.ts";
import type { HistoryOptions } from "./history.ts";
import { type HistoryView, historyView, readHistory } from "./history.ts";
import { isControl, isMessage, type ModelInput, type StoredMessage } from "./message.ts";

// Method: logs of every kind of record in any order, also such as no program of ours would write.
// Each message's text holds a mark of its own, so that what a view shows can be told from the text.

const callId = fc.constantFrom("x", "y", "z", "a b", "");
const maker = fc.constantFrom<JsonObject>(
  {},
  { provider: "openai", model: "gpt-5" },
  { provider: "openai", model: "gpt-5-2025-08-07" },
  { provider: "gemini", model: "g" },
);
const size = fc.oneof({ weight: 4, arbitrary: fc.nat(40) }, fc.nat(600));
const back = fc.nat(12);
const hidden = fc.constantFrom({}, {}, {}, { hidden: true });

const shape = fc.oneof(
  { weight: 5, arbitrary: fc.record({ role: fc.constant("user"), size, more: hidden }) },
  { weight: 4, arbitrary: fc.record({ role: fc.constant("assistant"), size, more: maker }) },
  {
    weight: 4,
    arbitrary: fc.record({
      role: fc.constant("assistant"),
      size: fc.constantFrom(0, 20),
      more: maker,
      calls: fc.array(callId, { maxLength: 3 }),
      artefacts: fc.boolean(),
      partial: fc.boolean(),
    }),
  },
  { weight: 5, arbitrary: fc.record({ role: fc.constant("tool"), size, result: callId }) },
  { weight: 1, arbitrary: fc.record({ role: fc.constant("system"), size }) },
  { weight: 1, arbitrary: fc.record({ role: fc.constantFrom("user", "assistant"), size, back }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("removal"), back }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("usage", "erased") }) },
  { weight: 1, arbitrary: fc.record({ role: fc.constant("odd"), size }) },
);
const clears = fc.array(fc.nat(60), { maxLength: 1 });

interface Shape {
  readonly role?: string;
  readonly size?: number;
  readonly more?: JsonObject;
  readonly calls?: readonly string[];
  readonly artefacts?: boolean;
  readonly partial?: boolean;
  readonly result?: string;
  readonly kind?: string;
  readonly back?: number;
}

const logs = fc
  .tuple(fc.array(shape, { maxLength: 60, size: "max" }), clears)
  .map(([shapes, cleared]) =>
    shapes.map((each: Shape, index) =>
      deepFreeze(recordOf(cleared.includes(index) ? { kind: "clear" } : each, index + 1)),
    ),
  );

const mark = (seq: number) => `<${seq}>`;

function recordOf(each: Shape, seq: number): StoredRecord {
  const earlier = Math.max(0, seq - 1 - (each.back ?? 0));
  const id = `m${seq}`;
  if (each.kind !== undefined) {
    const fields: Record<string, JsonObject> = { removal: { target: `m${earlier}` } };
    return { id, seq, _type: "metadata", kind: each.kind, ...fields[each.kind] };
  }
  const text = each.size === 0 ? "" : `${mark(seq)}${"é".repeat(each.size ?? 0)}`;
  return {
    id,
    seq,
    role: each.role,
    content: text,
    ...each.more,
    ...(each.role !== "tool" && each.back !== undefined ? { turn: `m${earlier}` } : {}),
    ...(each.result === undefined ? {} : { tool_call_id: each.result }),
    ...(each.calls === undefined ? {} : { tool_calls: each.calls.map(callOf) }),
    ...(each.artefacts ? { provider_data: { ...each.more, items: [seq] } } : {}),
    ...(each.partial ? { partial: true } : {}),
  } as StoredRecord;
}

function callOf(id: string): JsonObject {
  return { id, type: "function", function: { name: "look", arguments: "{}" } };
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}

const target = { provider: "openai", model: "gpt-5" };
const limits = {
  budgetTokens: fc.nat(1_500),
  startSeq: fc.nat(30),
  viewFromSeq: fc.nat(60),
  lastMessages: fc.integer({ min: 1, max: 30 }),
  ratio: fc.double({ min: 0.5, max: 4, noNaN: true }),
  summary: fc.nat(59).map((n) => ({ id: "s", upToSeq: n + 1, text: "they met" })),
};
const options = fc.record(limits, { requiredKeys: ["budgetTokens"] });

const isFull = process.env["THROUGHLINE_FULL"] === "1";

/** What a model may see of a log, by the plain reading of rules 1 and 2. */
function visible(records: readonly StoredRecord[], limits: Partial<HistoryOptions>): Set<number> {
  const cleared = records.findLast((record) => isControl(record, "clear"))?.seq ?? 0;
  const start = Math.max(cleared, limits.startSeq ?? 0);
  const hides = (record: StoredRecord, { id, seq }: StoredMessage) =>
    isControl(record, "removal") && record["target"] === id && record.seq > seq;
  return new Set(
    records
      .filter(isMessage)
      .filter((message) => message.seq > start && !message.hidden && message.role !== "system")
      .filter((message) => !records.some((record) => hides(record, message)))
      .map(({ seq }) => seq),
  );
}

function shownMarks({ messages }: HistoryView): ReadonlySet<number> {
  const text = messages.map(({ content }) => content).join("\n");
  return new Set([...text.matchAll(/<(\d+)>/g)].map((match) => Number(match[1])));
}

function newestUser(
  records: readonly StoredRecord[],
  limits: Partial<HistoryOptions>,
): StoredMessage | undefined {
  const seen = visible(records, limits);
  return records
    .filter(isMessage)
    .findLast((message) => message.role === "user" && seen.has(message.seq));
}

function checkLegal(messages: readonly ModelInput[]): void {
  if (messages.length > 0) assert.equal(messages[0]!.role, "user");
  for (let i = 0; i < messages.length; ) {
    const message = messages[i++]!;
    const before = messages[i - 2];
    assert.notEqual(message.role, "tool", "a result stands beside its call only");
    if (message.role === "user") {
      assert.notEqual(before?.role, "user");
      continue;
    }
    if (message.role !== "assistant") continue;
    const joined = before?.role === "assistant";
    if (joined) assert.ok(before.providerData ?? message.providerData, "two texts in a row");
    const calls = message.toolCalls ?? [];
    assert.ok(calls.length > 0 || message.content !== "");
    assert.equal(new Set(calls.map(({ id }) => id)).size, calls.length);
    for (const { id, function: fn } of calls) {
      const result = messages[i++];
      assert.match(id, /^[a-zA-Z0-9_-]{1,64}$/);
      assert.ok(result?.role === "tool");
      assert.deepEqual([result.toolCallId, result.toolName], [id, fn.name]);
    }
  }
}

/** Those that are visible stand from its start on, or the newest of them does. */
function checkWhole(
  records: readonly StoredRecord[],
  limits: Partial<HistoryOptions>,
  view: HistoryView,
): void {
  const newest = newestUser(records, limits);
  assert.equal(view.messages.length > 0, newest !== undefined);
  if (newest === undefined) return;
  const seen = visible(records, limits);
  const shown = shownMarks(view);
  let isShown = false;
  for (const message of records.filter(isMessage)) {
    const { role, seq, content } = message;
    if (role !== "user" || seq < view.fromSeq || content === "" || !seen.has(seq)) continue;
    if (message !== newest && limits.summary !== undefined) continue;
    // The oldest ones wait while the newest turn is too large for them.
    if (shown.has(seq)) isShown = true;
    assert.ok(!isShown || shown.has(seq), `${seq} is missing`);
  }
}

test("a view of any log is legal, shows what is visible, whole from its start, within its budget or as the newest turn", () => {
  fc.assert(
    fc.property(logs, options, (records, limits) => {
      const view = historyView(records, { ...target, ...limits });
      checkLegal(view.messages);
      const seen = visible(records, limits);
      for (const seq of shownMarks(view)) assert.ok(seen.has(seq), `${seq} must not be shown`);
      checkWhole(records, limits, view);
      assert.ok(Number.isInteger(view.tokens) && view.tokens >= 0);
      if (view.tokens <= limits.budgetTokens) return;
      assert.equal(view.messages.filter(({ role }) => role === "user").length, 1);
      for (const { role, content } of view.messages) {
        if (role === "tool") assert.ok(Buffer.byteLength(content) <= 200, "results make room");
      }
    }),
    { numRuns: isFull ? 800 : 150 },
  );
});

test("the start of a view never moves back while its log grows, but for a newest turn that was taken back", () => {
  fc.assert(
    fc.property(logs, fc.nat(1_500), (records, budgetTokens) => {
      let viewFromSeq = 0;
      for (let end = 0; end <= records.length; end++) {
        const known = records.slice(0, end);
        const { fromSeq } = historyView(known, { ...target, budgetTokens, viewFromSeq });
        const newest = newestUser(known, {})?.seq ?? Number.POSITIVE_INFINITY;
        assert.ok(fromSeq >= Math.min(viewFromSeq, newest), `${viewFromSeq} became ${fromSeq}`);
        viewFromSeq = fromSeq;
      }
    }),
    { numRuns: isFull ? 300 : 40 },
  );
});

/** A text that is shortened later is the same still. */
function comparable(message: ModelInput): ModelInput {
  return { ...message, content: message.content.replace(/é+(?:\n\[… .*\]\né+)?/g, "é") };
}

const wholeTurns = fc.array(
  fc.record({ question: size, calls: fc.nat(3), answer: fc.integer({ min: 1, max: 200 }) }),
  { minLength: 1, maxLength: 25, size: "max" },
);

test("while its start stays, a view begins with all of the view before it, large texts shortened at most", () => {
  fc.assert(
    fc.property(wholeTurns, fc.integer({ min: 50, max: 2_000 }), (turns, budgetTokens) => {
      const records: StoredRecord[] = [];
      const add = (each: Shape) => records.push(recordOf(each, records.length + 1));
      let before: HistoryView | undefined;
      let kept = 0;
      for (const { question, calls, answer } of turns) {
        add({ role: "user", size: question + 1 });
        for (let i = 0; i < calls; i++) {
          add({ role: "assistant", size: 0, calls: [`x${i}`] });
          add({ role: "tool", size: 30, result: `x${i}` });
        }
        add({ role: "assistant", size: answer });
        const viewFromSeq = before?.fromSeq ?? 0;
        const view = historyView(records, { ...target, budgetTokens, viewFromSeq });
        // The oldest turns wait while the newest one is too large for them.
        const isWhole = [before, view].every((each) =>
          each?.messages[0]?.content.startsWith(mark(view.fromSeq)),
        );
        if (before !== undefined && isWhole) {
          kept++;
          const same = view.messages.slice(0, before.messages.length);
          assert.deepEqual(same.map(comparable), before.messages.map(comparable));
        }
        before = view;
      }
      // Otherwise the start would move in every turn, and nothing would have been tested.
      if (budgetTokens === 2_000) assert.ok(kept >= Math.min(2, turns.length - 1));
    }),
    { numRuns: isFull ? 300 : 40 },
  );
});

/** Pages of a log, of at most so many records, and the oldest record that was read. */
function pagesOf(records: readonly StoredRecord[], size: number) {
  const source = {
    first: records.length + 1,
    async page(_key: string, { before = records.length + 1 }: { before?: number | undefined }) {
      source.first = Math.max(1, before - size);
      return records.slice(source.first - 1, before - 1);
    },
  };
  return source;
}

const saidBefore: StoredRecord[] = [
  { id: "m1", seq: 1, role: "user", content: "" },
  { id: "m2", seq: 2, role: "assistant", content: "<2>é" },
  { id: "m3", seq: 3, role: "assistant", content: "<3>é" },
  { id: "m4", seq: 4, role: "user", content: `<4>${"é".repeat(218)}` },
  { id: "m5", seq: 5, role: "user", content: "" },
];

test("a log that is read from its end, page by page, gives the view of the whole log", async () => {
  let cutShort = 0;
  await fc.assert(
    fc.asyncProperty(
      logs,
      options,
      fc.integer({ min: 1, max: 9 }),
      async (records, limits, size) => {
        // A summary is given by a head that has none from before the last clear.
        const cleared = records.findLast(({ kind }) => kind === "clear")?.seq ?? 0;
        const startSeq = limits.summary ? Math.max(limits.startSeq ?? 0, cleared) : limits.startSeq;
        const all = { ...target, ...limits, startSeq, budgetTokens: limits.budgetTokens / 8 };
        const log = pagesOf(records, size);
        const view = await readHistory(log, "chat", all);
        if (log.first > 1) cutShort++;
        assert.deepEqual(view, historyView(records, all));
      },
    ),
    {
      numRuns: isFull ? 800 : 80,
      examples: [
        // With what was said before it, a message is long enough to be shortened, and then it fits.
        [saidBefore, { budgetTokens: 636, lastMessages: 2, ratio: 0.5 }, 1],
      ],
    },
  );
  assert.ok(cutShort > (isFull ? 200 : 20), `only ${cutShort} logs were read in part`);
});

test("of a log of 20,000 messages the newest 6,000 at most are read, and no page before the summary or the scope", async () => {
  const records = Array.from({ length: 20_000 }, (_, i): StoredRecord => {
    const role = i % 2 === 0 ? "user" : "assistant";
    return { id: `m${i + 1}`, seq: i + 1, role, content: "x".repeat(28) };
  });
  const met = (upToSeq: number) => ({ id: "s", upToSeq, text: "they met" });
  for (const [asked, least] of [
    [{}, 14_000],
    [{ summary: met(10) }, 14_000],
    [{ summary: met(19_990), budgetTokens: 1e9 }, 19_700],
    [{ startSeq: 19_990, budgetTokens: 1e9 }, 19_700],
  ] as const) {
    const log = pagesOf(records, 200);
    const view = await readHistory(log, "chat", { ...target, ...asked });
    assert.ok(log.first > least, `records from ${log.first} on were read`);
    assert.deepEqual(view, historyView(records, { ...target, ...asked }));
  }
});
