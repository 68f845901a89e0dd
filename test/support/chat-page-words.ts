// What the processes of the kill test of chat pages have in common.
import { setTimeout } from "node:timers/promises";
import { convertToModelMessages, isStepCount, streamText, tool } from "ai";
import { z } from "zod";
import { type ChatRoutes, chatRoutes } from "../../src/adapters/ai-sdk/chat-routes.ts";
import type { Throughline } from "../../src/core/throughline.ts";
import { scriptedAiModel } from "./scripted-ai-model.ts";

export const said = (id: string) => ({
  id,
  role: "user",
  parts: [{ type: "text", text: `question ${id}` }],
});

export function toChat(messages: readonly object[]): Request {
  return new Request("http://localhost/api/chat", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ id: "c1", messages }),
  });
}

/** Routes whose model calls a tool first, and takes a few milliseconds for each word. */
export function pageRoutes(throughline: Throughline, calls: string[] = []): ChatRoutes {
  const tools = {
    lamp: tool({
      inputSchema: z.object({}),
      execute: async () => {
        calls.push("lamp");
        return "on";
      },
    }),
  };
  return chatRoutes(throughline, {
    async respond({ messages, signal }) {
      const isCalled = messages.at(-1)?.role === "assistant";
      const step = ["Let me see.", { call: "lamp", id: "call-1" }];
      const words = () => ["It ", setTimeout(8), "is ", setTimeout(20), "on."];
      const model = scriptedAiModel(isCalled ? [words()] : [step, words()]);
      const given = await convertToModelMessages(messages);
      const stopWhen = isStepCount(3);
      return streamText({ model, tools, stopWhen, messages: given, abortSignal: signal });
    },
  });
}
