// A stored message as a stream: the SDK makes the same message of it again.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  readUIMessageStream,
  safeValidateUIMessages,
  type UIMessage,
  type UIMessageChunk,
} from "ai";
import { chunksOf, startOf } from "./ui-chunks.ts";
import type { Message, Part } from "./ui-message.ts";

/** What the SDK makes of a stream. @param known what it has before. */
async function read(parts: readonly Part[], known?: readonly Part[]): Promise<readonly Part[]> {
  const start = startOf({ id: "a1", metadata: { seen: 1 } });
  const chunks = JSON.parse(JSON.stringify([start, ...chunksOf(parts, known)]));
  const stream = ReadableStream.from(chunks) as unknown as ReadableStream<UIMessageChunk>;
  const message =
    known && ({ id: "a1", role: "assistant", parts: structuredClone(known) } as const);
  let last: UIMessage | undefined;
  const states = readUIMessageStream({
    stream,
    message: message as unknown as UIMessage,
    terminateOnError: true,
  });
  for await (const state of states) last = state;
  assert.equal(last?.id, "a1");
  return (JSON.parse(JSON.stringify(last)) as Message).parts;
}

const call = { toolCallId: "k1", input: { room: "hall" } };
const metadata = { callProviderMetadata: { p: { item: "i" } } };
const approval = { id: "ap1", isAutomatic: true, signature: "sig" };
const cases: Record<string, Part> = {
  "a text": { type: "text", text: "Hi", state: "done", providerMetadata: { p: { id: "1" } } },
  "an empty text": { type: "text", text: "", state: "done" },
  reasoning: {
    type: "reasoning",
    id: "r1",
    text: "Hm",
    state: "done",
    providerMetadata: { p: { signature: "s" } },
  },
  "a file": { type: "file", mediaType: "image/png", url: "data:image/png;base64,eA==" },
  "a reasoning file": {
    type: "reasoning-file",
    mediaType: "image/png",
    url: "data:image/png;base64,eA==",
  },
  "a web source": { type: "source-url", sourceId: "s1", url: "https://example.org", title: "E" },
  "a document": { type: "source-document", sourceId: "s2", mediaType: "text/plain", title: "D" },
  data: { type: "data-tone", id: "d1", data: { kind: true } },
  "data without an id": { type: "data-tone", data: [1, 2] },
  custom: { type: "custom", kind: "p.thing", providerMetadata: { p: { a: 1 } } },
  "a steering message": {
    type: "steering-message",
    id: "st",
    parts: [{ type: "text", text: "Stop" }],
  },
  "a call": { type: "tool-lamp", ...call, state: "input-available", title: "Lamp", ...metadata },
  "a call that is being written": {
    type: "tool-lamp",
    toolCallId: "k1",
    state: "input-streaming",
    input: { room: "h" },
    rawInput: '{"room":"h',
  },
  "a result": {
    type: "tool-lamp",
    ...call,
    state: "output-available",
    output: { on: true },
    ...metadata,
  },
  "a result of a provider's own tool": {
    type: "tool-search",
    ...call,
    state: "output-available",
    output: [1],
    providerExecuted: true,
    resultProviderMetadata: { p: { b: 2 } },
  },
  "a result so far": {
    type: "tool-lamp",
    ...call,
    state: "output-available",
    output: 1,
    preliminary: true,
  },
  "an empty result": { type: "tool-lamp", ...call, state: "output-available", output: null },
  "an error": { type: "tool-lamp", ...call, state: "output-error", errorText: "no power" },
  "a call with a text as its input": {
    type: "tool-run",
    toolCallId: "k1",
    input: "ls",
    state: "output-available",
    output: "a.txt",
  },
  "a dynamic call": {
    type: "dynamic-tool",
    toolName: "lamp",
    ...call,
    state: "output-available",
    output: "on",
  },
  "a dynamic error": {
    type: "dynamic-tool",
    toolName: "lamp",
    ...call,
    state: "output-error",
    errorText: "x",
  },
  "a question for approval": { type: "tool-lamp", ...call, state: "approval-requested", approval },
  "an approval": {
    type: "tool-lamp",
    ...call,
    state: "approval-responded",
    approval: { ...approval, approved: true, reason: "yes" },
  },
  "an approved result": {
    type: "tool-lamp",
    ...call,
    state: "output-available",
    output: "on",
    approval: { id: "ap1", approved: true },
  },
  "a refused call": {
    type: "tool-lamp",
    ...call,
    state: "output-denied",
    approval: { id: "ap1", approved: false, reason: "no" },
  },
};

for (const [name, part] of Object.entries(cases)) {
  test(`a stream gives back ${name}, between texts`, async () => {
    const text = { type: "text", text: "And", state: "done" };
    const parts = [{ type: "step-start" }, text, part, { type: "step-start" }, text];
    const message = { id: "a1", role: "assistant", parts } as unknown as UIMessage;
    const { success } = await safeValidateUIMessages({ messages: [message] });
    assert.ok(success, "the SDK accepts it");
    assert.deepEqual(await read(parts), parts);
  });
}

test("a page that has a part of a message gets the rest, and the results that it lacks", async () => {
  const asked = {
    type: "tool-lamp",
    ...call,
    state: "approval-responded",
    approval: { id: "ap1", approved: true },
  };
  const known: readonly Part[] = [
    { type: "step-start" },
    asked,
    { type: "tool-lamp", toolCallId: "k2", input: {}, state: "input-available" },
  ];
  const parts: readonly Part[] = [
    { type: "step-start" },
    { ...asked, state: "output-available", output: "on" },
    { type: "tool-lamp", toolCallId: "k2", input: {}, state: "output-error", errorText: "x" },
    { type: "step-start" },
    { type: "text", text: "Done", state: "done" },
  ];
  assert.deepEqual(await read(parts, known), parts);
});
