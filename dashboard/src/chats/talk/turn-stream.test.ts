import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { turnEvents } from "./turn-stream.ts";

/** A response whose bytes come in pieces that end at these places. */
function responseOf(text: string, cuts: readonly number[]): Response {
  const bytes = new TextEncoder().encode(text);
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length];
  const ends = places.sort((a, b) => a - b);
  const pieces = ends.slice(1).map((end, index) => bytes.slice(ends[index], end));
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) if (piece.length > 0) controller.enqueue(piece);
      controller.close();
    },
  });
  return new Response(body);
}

async function textsOf(text: string, cuts: readonly number[] = []): Promise<unknown[]> {
  return (await Array.fromAsync(turnEvents(responseOf(text, cuts)))).map(({ data }) => data);
}

test("events come whole and in order, wherever the bytes were cut", async () => {
  const texts = fc.array(fc.string({ unit: "grapheme" }), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(texts, fc.array(fc.nat(), { maxLength: 12 }), async (said, cuts) => {
      const sent = said.map((text) => `event: text\ndata: ${JSON.stringify({ text })}\n\n`);
      const wire = `: connected\n\n${sent.join(": keep-alive\n\n")}`;
      const expected = said.map((text) => ({ text }));
      assert.deepEqual(await textsOf(wire, cuts), expected);
    }),
  );
});

for (const [says, wire, expected] of [
  ["lines that end with CR LF", 'event: text\r\ndata: {"text":"a"}\r\n\r\n', [{ text: "a" }]],
  ["data on two lines", 'event: text\ndata: {"text":\ndata: "a"}\n\n', [{ text: "a" }]],
  ["no space after the colon", 'event:text\ndata:{"text":"a"}\n\n', [{ text: "a" }]],
  ["a comment", ": keep-alive\n\n", []],
  ["an event that breaks off", 'event: text\ndata: {"text":"a"}\n', []],
  ["nothing", "", []],
] as const) {
  test(`a stream with ${says} gives ${JSON.stringify(expected)}`, async () => {
    assert.deepEqual(await textsOf(wire), expected);
  });
}
