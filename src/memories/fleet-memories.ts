import type { JsonObject } from "../json.ts";
import type { Fleet } from "../storage/fleet.ts";
import type { Chats } from "./chat/chats.ts";
import type { Loss } from "./chat/forget-receipt.ts";
import type { WorkingMemories } from "./interaction/working-memories.ts";
import type { ProviderSessions } from "./provider-session/provider-sessions.ts";

/**
 * Keeps what this process remembers of a chat no longer than any process lets it: what is forgotten,
 * cleared or reset in one is dropped in all. Who may have missed that drops everything.
 *
 * @returns what ends it.
 */
export function dropWithOthers(
  fleet: Fleet,
  memories: {
    readonly chats: Chats;
    readonly sessions: ProviderSessions;
    readonly workingMemory: WorkingMemories;
    /** Forgets the moments of a chat that was forgotten in another process. Never rejects. */
    readonly forgetMoments: (chatId: string) => void;
  },
): () => void {
  const { chats, sessions, workingMemory, forgetMoments } = memories;
  sessions.onEnd((chatId) => fleet.tell(dropMessage(chatId)));
  chats.onForget((chatId, loss) => {
    fleet.tell(dropMessage(chatId, loss));
    return [];
  });
  const endTold = fleet.onTold((message) => {
    const { about, chat: chatId } = message;
    if (about !== "drop" || typeof chatId !== "string") return;
    workingMemory.drop(chatId);
    chats.log.forgetState(chatId);
    if (message["loss"] === "forget") forgetMoments(chatId);
  });
  const endGap = fleet.onGap(() => workingMemory.clear());
  return () => {
    endTold();
    endGap();
  };
}

const dropMessage = (chatId: string, loss?: Loss): JsonObject => ({
  ...{ about: "drop", chat: chatId },
  ...(loss === undefined ? {} : { loss }),
});
