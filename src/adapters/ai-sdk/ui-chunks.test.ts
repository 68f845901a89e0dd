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
  const begun = known && { id: "a1", role: "assistant", parts: structuredClone(known) };
  const message = begun as unknown as UIMessage;
  let last: UIMessage | undefined;
  const states = readUIMessageStream({ stream, message, terminateOnError: true });
  for await (const state of states) last = state;
  assert.equal(last?.id, "a1");
  return (JSON.parse(JSON.stringify(last)) as Message).parts;
}

const call = { toolCallId: "k1", input: { room: "hall" } };
const callProviderMetadata = { p: { item: "i" } };
const providerMetadata = { p: { id: "1" } };
const approval = { id: "ap1", isAutomatic: true, signature: "sig" };
const picture = { mediaType: "image/png", url: "data:image/png;base64,eA==" };
/** A call of a tool in some state. */
const lamp = (state: string, more: object = {}): Part => {
  return { type: "tool-lamp", ...call, state, ...more };
};
const given = (output: unknown, more: object = {}) => lamp("output-available", { output, ...more });
const dynamic = { type: "dynamic-tool", toolName: "lamp" };
const yes = { id: "ap1", approved: true };
const rawInput = { input: { room: "h" }, rawInput: '{"room":"h' };
const ownTool = { providerExecuted: true, resultProviderMetadata: { p: { b: 2 } } };
const steering = { id: "st", parts: [{ type: "text", text: "Stop" }] };
const cases: Record<string, Part> = {
  "a text": { type: "text", text: "Hi", state: "done", providerMetadata },
  "an empty text": { type: "text", text: "", state: "done" },
  reasoning: { type: "reasoning", id: "r1", text: "Hm", state: "done", providerMetadata },
  "a file": { type: "file", ...picture },
  "a reasoning file": { type: "reasoning-file", ...picture },
  "a web source": { type: "source-url", sourceId: "s1", url: "https://example.org", title: "E" },
  "a document": { type: "source-document", sourceId: "s2", mediaType: "text/plain", title: "D" },
  data: { type: "data-tone", id: "d1", data: { kind: true } },
  "data without an id": { type: "data-tone", data: [1, 2] },
  custom: { type: "custom", kind: "p.thing", providerMetadata },
  "a steering message": { type: "steering-message", ...steering },
  "a call": lamp("input-available", { title: "Lamp", callProviderMetadata }),
  "a call that is being written": lamp("input-streaming", rawInput),
  "a result": given({ on: true }, { callProviderMetadata }),
  "a result of a provider's own tool": given([1], { type: "tool-search", ...ownTool }),
  "a result so far": given(1, { preliminary: true }),
  "an empty result": given(null),
  "an error": lamp("output-error", { errorText: "no power" }),
  "a call with a text as its input": given("a.txt", { type: "tool-run", input: "ls" }),
  "a dynamic call": given("on", dynamic),
  "a dynamic error": lamp("output-error", { ...dynamic, errorText: "x" }),
  "a question for approval": lamp("approval-requested", { approval }),
  "an approval": lamp("approval-responded", { approval: { ...approval, ...yes, reason: "yes" } }),
  "an approved result": given("on", { approval: yes }),
  "a refused call": lamp("output-denied", { approval: { ...yes, approved: false, reason: "no" } }),
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
  const second = { toolCallId: "k2", input: {} };
  const known: readonly Part[] = [
    { type: "step-start" },
    lamp("approval-responded", { approval: yes }),
    lamp("input-available", second),
  ];
  const parts: readonly Part[] = [
    { type: "step-start" },
    given("on", { approval: yes }),
    lamp("output-error", { ...second, errorText: "x" }),
    { type: "step-start" },
    { type: "text", text: "Done", state: "done" },
  ];
  assert.deepEqual(await read(parts, known), parts);
});
