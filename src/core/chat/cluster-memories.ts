import { errorName } from "../errors.ts";
import type { Extensions } from "../extensions.ts";
import type { JsonObject } from "../json.ts";
import { is, word } from "../shape.ts";
import type { Chats } from "./chats.ts";
import type { ProviderSessions } from "./provider-sessions.ts";
import { losses } from "./tombstones.ts";
import type { WorkingMemories } from "./working-memory.ts";

const lossShape = word(losses);

interface ClusterMemories {
  readonly chats: Chats;
  readonly sessions: ProviderSessions;
  readonly workingMemory: WorkingMemories;
  readonly extensions: Pick<Extensions, "remove" | "catchUp">;
}

/**
 * Keeps what this process remembers of a chat no longer than any process lets it: what is forgotten,
 * cleared or reset in one is removed in all. After missed messages the working memory is cleared, and extensions
 * catch up with the marks of forgotten chats.
 *
 * @returns what ends it.
 */
export function removeWithOthers(memories: ClusterMemories): () => void {
  const { chats, sessions, workingMemory, extensions } = memories;
  const { cluster, ports } = chats;
  let removing = Promise.resolve();
  /** Marks of chats that were removed from here already. */
  const known = new Set<string>();
  const inOrder = (work: () => Promise<void>) => {
    removing = removing.then(work).catch((error) => {
      const fields = { error: errorName(error) };
      ports.logger.error(fields, "something of a chat that another process forgot is still here");
    });
  };
  sessions.onEnd((chatId) => cluster.publish(removeMessage(chatId)));
  chats.others.push({
    remove(chatId, loss, messageId) {
      // Of a chat that is being forgotten it is published again, once nothing is left.
      const what = loss === "forget" ? {} : { loss, message: messageId };
      cluster.publish({ ...removeMessage(chatId), ...what });
      return [];
    },
    // Not before it is on record: a process that misses this finds it there.
    forgotten(chatId, mark) {
      if (mark !== undefined) known.add(mark.id);
      cluster.publish({ ...removeMessage(chatId), loss: "forget", mark: mark?.id });
    },
  });
  const endSubscription = cluster.subscribe(({ about, chat: chatId, loss, message, mark }) => {
    if (about !== "drop" || typeof chatId !== "string") return;
    workingMemory.remove(chatId);
    chats.forgetState(chatId);
    if (!is(lossShape, loss)) return;
    const messageId = typeof message === "string" ? message : undefined;
    inOrder(async () => {
      await extensions.remove(chatId, loss, messageId, true);
      if (typeof mark === "string") known.add(mark);
    });
  });
  // Where that cannot be asked, every chat counts that was ever forgotten.
  const begun = chats.tombstones.end().catch(() => 0);
  let end: number | undefined;
  const endMissed = cluster.onMissed(() => {
    workingMemory.clear();
    inOrder(async () => {
      const read = async () => chats.tombstones.after(end ?? (await begun), known);
      end = (await extensions.catchUp(read)).end;
    });
  });
  return () => {
    endSubscription();
    endMissed();
  };
}

const removeMessage = (chatId: string): JsonObject => ({ about: "drop", chat: chatId });
