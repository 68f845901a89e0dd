// What was said, in the JSON of the GenAI conventions. Only where somebody asked for it.
import type { ModelInput } from "../../core/chat/message.ts";

export function instructionsText(content: string): string {
  return JSON.stringify([{ type: "text", content }]);
}

export function messagesText(messages: readonly ModelInput[]): string {
  return JSON.stringify(messages.map(messageOf));
}

export function answerText(answer: ModelInput, finish = "error"): string {
  return JSON.stringify([{ ...messageOf(answer), finish_reason: finishReasons[finish] ?? finish }]);
}

/** Those that the schema of an answer names in another way than providers do. */
const finishReasons: { readonly [finish: string]: string | undefined } = {
  "content-filter": "content_filter",
  "tool-calls": "tool_call",
  other: "error",
};

function messageOf(message: ModelInput) {
  const { role, content } = message;
  if (role === "tool") {
    const part = { type: "tool_call_response", id: message.toolCallId, response: content };
    return { role, parts: [part] };
  }
  const text = content === "" ? [] : [{ type: "text", content }];
  if (role === "user") return { role, parts: text };
  const calls = (message.toolCalls ?? []).map(({ id, function: called }) => ({
    type: "tool_call",
    id,
    name: called.name,
    arguments: parsed(called.arguments),
  }));
  return { role, parts: [...text, ...calls] };
}

/** As the model wrote it where that is not JSON. */
function parsed(written: string): unknown {
  try {
    return JSON.parse(written);
  } catch {
    return written;
  }
}
