/** What forgetting a chat removed, and from where. */
export interface ForgetReceipt {
  readonly chat_id: string;
  readonly at: string;
  readonly removed: readonly { readonly place: string; readonly count: number }[];
  /** Places that hold something of this chat and could not be reached. */
  readonly unreachable: readonly string[];
  /** Chats that hold messages copied from this one: its forks, and theirs. They stay until they are forgotten too. */
  readonly forks: readonly string[];
}

/**
 * What is done to a chat. A clear and what the application takes back leave its bytes; forgetting leaves
 * nothing.
 */
export const losses = ["clear", "take_back", "erase", "forget"] as const;
export type Loss = (typeof losses)[number];

/** A row of a receipt: how much was removed and from where; or a place that still holds something. */
export type Removed =
  | { readonly place: string; readonly count: number }
  | { readonly unreachable: string };

/** Removes what another memory holds of a chat, or of one message of it. Resolves once it is gone. */
export type RemoveElsewhere = (
  chatId: string,
  loss: Loss,
  messageId?: string,
) => readonly Removed[] | Promise<readonly Removed[]>;

/** What erasing a message reached. */
export interface RemovalReceipt {
  readonly chat_id: string;
  readonly message_id: string;
  /** Other chats that held the same message, and from which it was removed too: see `copiesOf`. */
  readonly copies: readonly string[];
  readonly removed: readonly { readonly place: string; readonly count: number }[];
  /** Places that may still hold it. The same call again tries them again. */
  readonly unreachable: readonly string[];
}

/** The same places of several chats together. */
export function summed(rows: readonly Removed[]): Pick<ForgetReceipt, "removed" | "unreachable"> {
  const counts = new Map<string, number>();
  const unreachable = new Set<string>();
  for (const each of rows) {
    if ("place" in each) counts.set(each.place, (counts.get(each.place) ?? 0) + each.count);
    else unreachable.add(each.unreachable);
  }
  const removed = [...counts].map(([place, count]) => ({ place, count }));
  return { removed, unreachable: [...unreachable] };
}
