// Items of OpenAI's interfaces as messages of a chat, and messages as items. The Agents SDK and the Conversations
// API name the same things differently: each is a dialect.
import type { StoredMessage } from "../../core/chat/message.ts";
import type { MessageInput } from "../../core/chat/message-input.ts";
import { isJsonObject } from "../../core/json.ts";
import { keptLimits } from "../../core/storage/kept-value.ts";

/** One item of a conversation: a message, a call, a result, reasoning, and so on. */
export interface Item {
  readonly type?: string | undefined;
  readonly [field: string]: unknown;
}

export interface Dialect {
  /** The name under which a message has the item that it was given as. */
  readonly framework: string;
  readonly callId: "callId" | "call_id";
  /** The type of the result of a call. */
  readonly result: string;
  /** The items that a message makes which says no more than its role, text, calls and name. */
  text(role: "user" | "assistant" | "system", text: string): Item;
  call(call: { readonly id: string; readonly name: string; readonly arguments: string }): Item;
  output(callId: string, name: string, text: string): Item;
}

export const agentsDialect: Dialect = {
  framework: "openai-agents",
  callId: "callId",
  result: "function_call_result",
  text: (role, text) =>
    role === "assistant"
      ? {
          type: "message",
          role,
          status: "completed",
          content: [{ type: "output_text", text }],
        }
      : { type: "message", role, content: text },
  call: ({ id, name, arguments: text }) => {
    return { type: "function_call", callId: id, name, status: "completed", arguments: text };
  },
  output: (callId, name, text) => {
    const output = { type: "text", text };
    return { type: "function_call_result", name, callId, status: "completed", output };
  },
};

export const conversationsDialect: Dialect = {
  framework: "openai-conversations",
  callId: "call_id",
  result: "function_call_output",
  text: (role, text) => {
    const content =
      role === "assistant"
        ? { type: "output_text", text, annotations: [], logprobs: [] }
        : { type: "input_text", text };
    return { type: "message", role, status: "completed", content: [content] };
  },
  call: ({ id, name, arguments: text }) => {
    return { type: "function_call", call_id: id, name, status: "completed", arguments: text };
  },
  output: (callId, _, text) => {
    return { type: "function_call_output", call_id: callId, status: "completed", output: text };
  },
};

/**
 * What people, search and other models see of an item: `undefined` for what has no place among messages, such as
 * reasoning. Of a text that is too long for a record, they see its beginning.
 */
export function shownOf(item: Item, dialect: Dialect): MessageInput | undefined {
  const { type = "message", role, name } = item;
  const callId = item[dialect.callId];
  if (type === "message") {
    const known = role === "developer" ? "system" : role;
    if (known !== "user" && known !== "assistant" && known !== "system") return undefined;
    return { role: known, content: cut(textOf(item["content"])) };
  }
  if (typeof callId !== "string" || callId === "") return undefined;
  if (type === dialect.result) {
    const content = cut(textOf(item["output"]));
    const tool = typeof name === "string" && name !== "" ? name : undefined;
    return { role: "tool", content, tool_call_id: callId, name: tool };
  }
  const { arguments: text } = item;
  if (type !== "function_call" || typeof name !== "string" || name === "") return undefined;
  if (typeof text !== "string") return undefined;
  const shown = text.length > keptLimits.units ? "{}" : text;
  const call = { id: callId, type: "function", function: { name, arguments: shown } };
  return { role: "assistant", content: "", tool_calls: [call] };
}

/** The items that a message is which was said in another way; of one with calls several. */
export function itemsOf(
  message: Pick<StoredMessage, "role" | "content" | "name" | "tool_calls" | "tool_call_id">,
  dialect: Dialect,
): readonly Item[] {
  const { role, content, name = "", tool_calls: calls = [], tool_call_id: callId = "" } = message;
  if (role === "tool") return [dialect.output(callId, name, content)];
  const made = calls.map(({ id, function: called }) => dialect.call({ id, ...called }));
  return content === "" && made.length > 0 ? made : [dialect.text(role, content), ...made];
}

/** The words in the content of a message, or in the output of a tool. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  const texts = (Array.isArray(content) ? content : [content]).map((part) => {
    if (!isJsonObject(part)) return undefined;
    return part["text"] ?? part["refusal"] ?? part["transcript"];
  });
  return texts.filter((text) => typeof text === "string").join("\n");
}

/** The whole is in the exact form of the message. */
const cut = (text: string) => text.slice(0, keptLimits.units).toWellFormed();
