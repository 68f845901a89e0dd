// A chat as LangChain's history: the entry point `throughline/langchain`.
import { isDeepStrictEqual } from "node:util";
import { startFor } from "../../core/chat/chat-head.ts";
import { checkChatId } from "../../core/chat/chat-log.ts";
import { exactOf, keepExact } from "../../core/chat/exact.ts";
import type { StoredMessage, ToolCall } from "../../core/chat/message.ts";
import type { MessageInput } from "../../core/chat/message-input.ts";
import { allMessages } from "../../core/chat/message-page.ts";
import { unless } from "../../core/errors.ts";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import { aList, aThroughline, checkArgument, having, misconfigured } from "../../core/options.ts";
import type { Throughline } from "../../core/throughline.ts";
import { chatMessage, type LangChainMessage } from "./chat-message.ts";

export type { LangChainMessage };

/** The name under which a message of a chat has what LangChain stores of it. */
const framework = "langchain";

/**
 * The messages of a chat as a history for LangChain, such as for `RunnableWithMessageHistory`. What is added is in
 * the chat like everything that is said there; what was said there in another way is in the history. Messages come
 * back equal; an `AIMessageChunk` comes back as an `AIMessage`.
 */
export class ThroughlineChatMessageHistory {
  readonly lc_namespace = ["throughline", "langchain"];
  readonly lc_serializable = false;
  readonly lc_kwargs = {};
  readonly lc_id = ["throughline", "langchain", "ThroughlineChatMessageHistory"];
  readonly lc_secrets = undefined;
  readonly lc_attributes = undefined;
  readonly lc_aliases = undefined;
  readonly lc_serializable_keys = undefined;

  readonly #throughline: Throughline;
  readonly #chatId: string;

  /** @param chatId the chat: LangChain's session id. It begins with its first message. */
  constructor(throughline: Throughline, chatId: string) {
    checkArgument(throughline, "throughline", aThroughline);
    checkChatId(chatId);
    this.#throughline = throughline;
    this.#chatId = chatId;
  }

  /**
   * Every message since the chat was last cleared or reset, oldest first. What was erased, taken back or
   * replaced by another answer is left out.
   */
  // biome-ignore lint/suspicious/noExplicitAny: LangChain's messages, whose types need not be installed.
  async getMessages(): Promise<any[]> {
    const { mapStoredMessageToChatMessage } = await messagesModule();
    const { chats } = this.#throughline;
    const messages: unknown[] = [];
    const start = startFor((await chats.state(this.#chatId)).head, framework);
    for (const message of await allMessages(chats, this.#chatId)) {
      const stored = message.seq > start ? await this.#stored(message) : undefined;
      if (stored !== undefined) messages.push(mapStoredMessageToChatMessage(stored as never));
    }
    return messages;
  }

  /** The same as `addMessages` with one. */
  addMessage(message: LangChainMessage): Promise<void> {
    return this.addMessages([message]);
  }

  /** Adds messages to the end of the chat, all or none. They are stored when this resolves. */
  async addMessages(messages: readonly LangChainMessage[]): Promise<void> {
    const { chats, ports } = this.#throughline;
    const { mapStoredMessageToChatMessage } = await messagesModule();
    const inputs: MessageInput[] = [];
    checkArgument(messages, "messages", aList);
    for (const message of messages) {
      checkArgument(message, "a message", having("a message of LangChain", "getType"));
      const id = ports.newId();
      const said = chatMessage(message);
      const dict = message.toDict();
      const isPlain =
        said !== undefined &&
        isDeepStrictEqual(mapStoredMessageToChatMessage(dictOf(said) as never).toDict(), dict);
      if (isPlain) {
        inputs.push({ ...said, id });
        continue;
      }
      const { exact, attachments } = await keepExact(chats, this.#chatId, id, dict);
      const shown = said ?? { role: "system", content: message.text, hidden: true };
      inputs.push({ ...shown, id, attachments, exact: { ...exact, framework } });
    }
    if (inputs.length > 0) await chats.append(this.#chatId, inputs);
  }

  async addUserMessage(text: string): Promise<void> {
    await this.#throughline.chats.append(this.#chatId, [{ role: "user", content: text }]);
  }

  async addAIMessage(text: string): Promise<void> {
    await this.#throughline.chats.append(this.#chatId, [{ role: "assistant", content: text }]);
  }

  /** Clears the chat. Its bytes stay until it is forgotten. */
  async clear(): Promise<void> {
    // What was never begun has nothing to clear.
    await this.#throughline.chats.clear(this.#chatId).catch(unless("THROUGHLINE_NOT_FOUND"));
  }

  toJSON(): { lc: number; type: "not_implemented"; id: string[] } {
    return { lc: 1, type: "not_implemented", id: this.lc_id };
  }

  toJSONNotImplemented(): { lc: number; type: "not_implemented"; id: string[] } {
    return this.toJSON();
  }

  /** What LangChain stores of a message; of one that was said in another way, what it would. */
  async #stored(message: StoredMessage): Promise<unknown> {
    if (message.redacted || message.replaced) return undefined;
    if (message.exact?.["framework"] === framework) {
      return exactOf(this.#throughline.chats, this.#chatId, message);
    }
    return message.hidden ? undefined : dictOf(message as MessageInput);
  }
}

/** What LangChain stores of a message that says no more than its role, its text and its calls. */
function dictOf(message: MessageInput): unknown {
  const { role, content, name, tool_call_id, is_error } = message;
  if (role === "user") return dict("human", { content, name });
  if (role === "system") return dict("system", { content, name });
  if (role === "tool") {
    const id = tool_call_id ?? "";
    return dict("tool", { content, name, tool_call_id: id, status: is_error && "error" });
  }
  const { tool_calls = [] } = message as { readonly tool_calls?: readonly ToolCall[] };
  const calls = tool_calls.map(({ id, function: called }) => {
    return { id, name: called.name, args: argumentsOf(called.arguments), type: "tool_call" };
  });
  return dict("ai", { content, name, tool_calls: calls });
}

/** Without the fields that are not set: LangChain's messages would have them too. */
function dict(type: string, fields: JsonObject): unknown {
  const data = Object.entries(fields).filter(([, value]) => value !== undefined);
  return { type, data: Object.fromEntries(data) };
}

function argumentsOf(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : {};
  } catch {
    return {}; // what a model wrote that is no JSON
  }
}

async function messagesModule(): Promise<typeof import("@langchain/core/messages")> {
  try {
    return await import("@langchain/core/messages");
  } catch (cause) {
    throw misconfigured("LangChain's messages need a package: npm install @langchain/core", cause);
  }
}
