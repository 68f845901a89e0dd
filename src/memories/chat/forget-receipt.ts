/** What forgetting a chat removed, and from where. */
export interface ForgetReceipt {
  readonly chat_id: string;
  readonly at: string;
  readonly removed: readonly { readonly place: string; readonly count: number }[];
  /** Places that hold something of this chat and could not be reached. */
  readonly unreachable: readonly string[];
}

/** What is done to a chat. A clear and a redaction leave its bytes; forgetting leaves nothing. */
export type Loss = "clear" | "redact" | "erase" | "forget";

/** What a memory dropped: how much and from where; or a place that still holds something. */
export type Dropped =
  | { readonly place: string; readonly count: number }
  | { readonly unreachable: string };

/**
 * Drops what another memory holds of a chat, or of one message of it. @returns what that was, once it is
 * gone.
 */
export type DropElsewhere = (
  chatId: string,
  loss: Loss,
  messageId?: string,
) => readonly Dropped[] | Promise<readonly Dropped[]>;
