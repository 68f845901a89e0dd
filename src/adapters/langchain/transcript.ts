import type { MessageInput } from "../../core/chat/message-input.ts";
import { errorName, isThroughlineError } from "../../core/errors.ts";
import type { Throughline } from "../../core/throughline.ts";
import { chatMessage, type LangChainMessage } from "./chat-message.ts";

/** Copies what is said in a thread into the chat of the same id. */
export class Transcript {
  readonly #throughline: Pick<Throughline, "chats" | "ports">;

  constructor(throughline: Pick<Throughline, "chats" | "ports">) {
    this.#throughline = throughline;
  }

  /**
   * Adds the messages at the end of a list that the chat does not have yet, by their ids. So a copy that a crash
   * prevented is made up for by the next one. A message that a chat cannot hold is left out, with a warning.
   */
  async add(chatId: string, messages: unknown): Promise<void> {
    const { chats } = this.#throughline;
    const missing: MessageInput[] = [];
    for (const message of Array.isArray(messages) ? messages.toReversed() : []) {
      const said = isMessage(message) ? chatMessage(message) : undefined;
      if (said?.id === undefined) continue;
      if ((await chats.find(chatId, said.id)) !== undefined) break;
      missing.unshift(said);
    }
    for (const said of missing) await this.#append(chatId, said);
  }

  async #append(chatId: string, message: MessageInput): Promise<void> {
    const { chats, ports } = this.#throughline;
    try {
      await chats.append(chatId, [message]);
    } catch (error) {
      const codes = [
        "THROUGHLINE_TOO_LARGE",
        "THROUGHLINE_INVALID",
        "THROUGHLINE_ID_CONFLICT",
      ] as const;
      if (!codes.some((code) => isThroughlineError(error, code))) throw error;
      const fields = { chat: chatId, error: errorName(error) };
      ports.logger.warn(fields, "a message of a thread is not in its chat");
    }
  }
}

function isMessage(value: unknown): value is LangChainMessage {
  return typeof (value as Partial<LangChainMessage> | null)?.getType === "function";
}
