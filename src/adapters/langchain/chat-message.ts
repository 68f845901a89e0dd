// A LangChain message as a message of a chat.
import type { Role } from "../../core/chat/message.ts";
import type { MessageInput } from "../../core/chat/message-input.ts";
import { isPersonName } from "../../core/chat/person-name.ts";

const roles: Readonly<Record<string, Role>> = {
  human: "user",
  ai: "assistant",
  tool: "tool",
  function: "tool",
  system: "system",
};

/** A LangChain message, as far as it is read here. */
export interface LangChainMessage {
  getType(): string;
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  /** The text of its content, whatever form that has. */
  readonly text: string;
  readonly tool_calls?:
    | readonly {
        readonly id?: string | undefined;
        readonly name: string;
        readonly args?: unknown;
      }[]
    | undefined;
  readonly tool_call_id?: string | undefined;
  readonly status?: string | undefined;
  /** The form in which LangChain stores it. */
  toDict(): { readonly type: string; readonly data: unknown };
}

/** What people, search and other models see of it; `undefined` for a type that has no role in a chat. */
export function chatMessage(message: LangChainMessage): MessageInput | undefined {
  const type = message.getType();
  const role = Object.hasOwn(roles, type) ? roles[type] : undefined;
  if (role === undefined) return undefined;
  const { id, name, text, tool_calls, tool_call_id, status } = message;
  return {
    id: id || undefined,
    role,
    content: text,
    name: role === "user" && !isPersonName(name) ? undefined : name || undefined,
    tool_calls: tool_calls?.length
      ? tool_calls.map((call, index) => ({
          id: call.id || `call-${index + 1}`,
          type: "function",
          function: { name: call.name || "unknown", arguments: JSON.stringify(call.args ?? {}) },
        }))
      : undefined,
    tool_call_id: tool_call_id || undefined,
    is_error: status === "error" ? true : undefined,
  };
}
