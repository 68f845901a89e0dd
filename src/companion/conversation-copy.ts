import type { Json } from "../core/json.ts";
import {
  type CompanionDocument,
  type ConversationMessage,
  companionLimits,
} from "./companion-document.ts";
import { ownField } from "./own-fields.ts";

interface Copied extends ConversationMessage {
  /** `undefined`: a file of the original, which knows one conversation. */
  readonly chatId: string | undefined;
}

/**
 * The last 50 things that were said, over all chats: the copy in the document, for readers of the
 * original's schema. The chats' logs have all of it.
 */
export class ConversationCopy {
  #messages: Copied[];

  /** Goes on from the copy of the run before. */
  constructor(document: CompanionDocument | undefined) {
    const messages = document?.conversation ?? [];
    const chats = ownField(document, "conversation_chats");
    // Where an item was lost, nobody knows any more which chat is of which message.
    const isWhole = Array.isArray(chats) && chats.length === messages.length;
    const chatOf = (i: number) => {
      const chat: unknown = isWhole ? chats[i] : undefined;
      return typeof chat === "string" ? chat : undefined;
    };
    this.#messages = messages
      .map((message, i) => ({ ...message, chatId: chatOf(i) }))
      .slice(-companionLimits.conversation);
  }

  add(chatId: string, message: ConversationMessage): void {
    this.#messages.push({ ...message, chatId });
    if (this.#messages.length > companionLimits.conversation) this.#messages.shift();
  }

  /**
   * Drops what was said in a chat. What nobody knows the chat of goes too: it may be of this one.
   *
   * @returns how many messages that were.
   */
  forget(chatId: string): number {
    const before = this.#messages.length;
    this.#messages = this.#messages.filter(
      (each) => each.chatId !== chatId && each.chatId !== undefined,
    );
    return before - this.#messages.length;
  }

  get messages(): readonly ConversationMessage[] {
    return this.#messages;
  }

  /** Which chat each message is of, in the same order. */
  get chats(): Json {
    return this.#messages.map(({ chatId }) => chatId ?? null);
  }
}
