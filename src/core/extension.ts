// The seam: what a feature may add to the memories. The core calls it and knows nothing else about it.
import type { StoredMessage } from "./chat/message.ts";
import type { ForgottenChats, Loss, Removed } from "./chat/tombstones.ts";
import type { Turn } from "./turns/turn.ts";

/**
 * A feature that takes part in what happens to chats. `Throughline.extend` adds one; closing the
 * `Throughline` disposes them, the newest first.
 */
export interface Extension extends AsyncDisposable {
  /**
   * Removes what it keeps about a chat, or about one message. Resolves when the bytes are gone. A
   * rejection is named in the receipt, and stops nothing else from being removed.
   *
   * @returns the rows of the receipt.
   */
  remove(removal: Removal): Promise<readonly Removed[]>;
  /**
   * Removes what it keeps about chats that were forgotten while it was not loaded, or while this
   * process could not be notified. Called once it is added, and whenever messages were missed.
   *
   * @param forgotten reads which chats those are. It rejects while the storage cannot be read.
   */
  catchUp(forgotten: () => Promise<ForgottenChats>): Promise<void>;
  /**
   * Something was said now and is stored: a person's words before their turn is answered, an answer when
   * its turn ends, a message when it is appended. Once for each message. What it throws is logged.
   *
   * @param client the program that appended it, if it has named itself.
   */
  heard?(chatId: string, message: StoredMessage, client?: string): void;
  /** A turn begins to run. `turn.progress()` tells all of it, as it happens. */
  turn(turn: Turn): TurnHooks;
  /**
   * What `TurnHooks.begun` would return for the next message of this chat, which may not exist yet. It
   * changes nothing. `noPart` if it adds nothing to turns.
   */
  preview(chatId: string): Promise<TurnPart>;
}

/** What was removed from the chats. */
export interface Removal {
  /**
   * An erasure and forgetting remove the bytes from the transcript, the others do not. No person asks for
   * a `take_back`: what people made of the message, such as a package, stays.
   */
  readonly loss: Loss;
  readonly chatId: string;
  /** `undefined`: the whole chat. */
  readonly messageId: string | undefined;
  /** Another process did it, and has the receipt. */
  readonly isElsewhere: boolean;
}

/** What an extension does in one turn. What it throws is logged, and the turn continues without it. */
export interface TurnHooks {
  /** The person's words are stored and heard, and no model is asked before this resolves. */
  begun(begun: BegunTurn): Promise<TurnPart>;
  /** Follows `begun`, however the turn ends. `undefined`: no answer was stored. */
  ended(answer: StoredMessage | undefined): void;
}

export interface BegunTurn {
  readonly user: StoredMessage;
  /** What `TurnPart.acknowledged` was with the last answer in this chat. */
  readonly acknowledged: number | undefined;
}

/** What the model gets beside the conversation. None of it is stored as a message. */
export interface TurnPart {
  /** Follows the persona. Keep it the same from turn to turn, for the provider's cache; or "". */
  readonly instructions: string;
  /** Lines for the block of what changes from turn to turn. */
  readonly notes: readonly string[];
  /** A block of its own after that one, with marks of its own; or "". */
  readonly context: string;
  /**
   * Stored in the head of the chat with the answer that was made with this, or not at all. Of several
   * extensions the first that has one counts.
   */
  readonly acknowledged: number | undefined;
}

/** For an extension that adds nothing to a turn. */
export const noPart: TurnPart = {
  instructions: "",
  notes: [],
  context: "",
  acknowledged: undefined,
};

/** For an extension that only listens to `turn.progress()`, or not even that. */
export const noHooks: TurnHooks = { begun: async () => noPart, ended: () => undefined };
