// What the processes of the kill test of open turns have in common.
import type { MessageInput } from "../../src/core/chat/message-input.ts";

export const chat = "telegram:42";
export const target = { provider: "elsewhere", model: "e-1" };
export const usage = { inputTokens: 10, outputTokens: 5, costUsd: 0.5 };

type Said = MessageInput & { readonly id: string };

export const call = (id: string): Said => ({
  id: `${id}-call`,
  role: "assistant",
  content: "",
  tool_calls: [{ id: "call-1", type: "function", function: { name: "lamp", arguments: "{}" } }],
});
export const result = (id: string): Said => ({
  id: `${id}-result`,
  role: "tool",
  content: "on",
  tool_call_id: "call-1",
});
export const answer = (id: string): Said => ({
  id: `${id}-answer`,
  role: "assistant",
  content: "It is on.",
});

/** In the order in which a turn comes to them. */
export const openTurnPlaces = [
  "after open",
  "after the call is kept",
  "after the result is kept",
  "while a second message waits",
  "as close is called",
  "after close",
] as const;

export type OpenTurnPlace = (typeof openTurnPlaces)[number];
