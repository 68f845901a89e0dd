import type { ChatHead } from "./chat-head.ts";

/** One chat in a list: never read from its transcript. */
export interface ChatRow {
  readonly chat_id: string;
  readonly provider: string;
  readonly model: string;
  readonly created_at: string;
  /** When a person last acted. Where no person did: the last write other than a title or a setting. */
  readonly last_active: string;
  readonly message_count: number;
  readonly generation: number;
  readonly title: string;
  /** A message waits for its answer. */
  readonly unanswered: boolean;
  /** Stored bytes of this chat were found damaged. */
  readonly damaged: boolean;
}

export function chatRow(chatId: string, head: ChatHead, damaged: boolean): ChatRow {
  const { session } = head;
  return {
    chat_id: chatId,
    provider: session?.provider ?? "",
    model: session?.model ?? "",
    created_at: head.created_at,
    last_active: session?.human_at ?? head.updated_at,
    message_count: head.message_count - (head.cleared_count ?? 0),
    generation: session?.generation ?? 0,
    title: head.title,
    unanswered: head.open_turn !== undefined || head.pending !== undefined,
    damaged,
  };
}
