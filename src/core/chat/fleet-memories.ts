import {
  forgetForgotten,
  type KeptMoments,
  lostPackages,
} from "../../moments/record/forget-forgotten.ts";
import { errorName } from "../errors.ts";
import type { JsonObject } from "../json.ts";
import type { Logger } from "../logger.ts";
import type { Cluster } from "../storage/cluster.ts";
import type { Chats } from "./chats.ts";
import type { ProviderSessions } from "./provider-sessions.ts";
import type { WorkingMemories } from "./working-memories.ts";

interface FleetMemories {
  readonly chats: Chats;
  readonly sessions: ProviderSessions;
  readonly workingMemory: WorkingMemories;
  /** Those of this process, once it keeps any. */
  readonly moments: () => Promise<KeptMoments> | undefined;
  readonly logger: Logger;
}

/**
 * Keeps what this process remembers of a chat no longer than any process lets it: what is forgotten,
 * cleared or reset in one is dropped in all. Who may have missed that drops everything, but moments
 * only of those chats that were forgotten.
 *
 * @returns what ends it.
 */
export function dropWithOthers(cluster: Cluster, memories: FleetMemories): () => void {
  const { chats, sessions, workingMemory, logger } = memories;
  let forgetting = Promise.resolve();
  /** Marks of chats whose moments are gone from here already. */
  const known = new Set<string>();
  /** One thing after the other. */
  const withMoments = (work: (kept: KeptMoments | undefined) => Promise<void>) => {
    const kept = memories.moments();
    forgetting = forgetting
      .then(async () => work(await kept))
      .catch((error) => {
        const fields = { error: errorName(error) };
        logger.error(fields, "the moments of a chat that another process forgot are still here");
      });
  };
  sessions.onEnd((chatId) => cluster.publish(dropMessage(chatId)));
  chats.onForget((chatId, loss, messageId) => {
    // Of a chat that is being forgotten it is told again, once nothing is left.
    const what = loss === "forget" ? {} : { loss, ...(messageId && { message: messageId }) };
    cluster.publish({ ...dropMessage(chatId), ...what });
    const isLeft = cluster.isShared && messageId !== undefined;
    return isLeft ? [{ unreachable: packagesElsewhere }] : [];
  });
  // Not before it is on record: who does not hear this any more finds it there.
  chats.onForgotten((chatId, mark) => {
    if (mark !== undefined) known.add(mark.id);
    cluster.publish({ ...dropMessage(chatId), loss: "forget", ...(mark && { mark: mark.id }) });
  });
  const endTold = cluster.subscribe((message) => {
    const { about, chat: chatId } = message;
    if (about !== "drop" || typeof chatId !== "string") return;
    workingMemory.drop(chatId);
    chats.log.forgetState(chatId);
    const { loss, message: messageId } = message;
    if (loss === undefined) return;
    if (loss !== "forget") {
      const id = typeof messageId === "string" ? messageId : undefined;
      const selection = lostPackages(chatId, loss, id);
      withMoments(async (kept) => {
        kept?.recorder.dropWords(chatId, id);
        if (selection !== undefined) await kept?.forget(selection);
      });
      return;
    }
    withMoments(async (kept) => {
      await kept?.forget({ chatId });
      if (typeof message["mark"] === "string") known.add(message["mark"]);
    });
  });
  // Where that cannot be asked, every chat counts that was ever forgotten.
  const begun = chats.tombstones.end().catch(() => 0);
  let end: number | undefined;
  const endGap = cluster.onMissed(() => {
    workingMemory.clear();
    withMoments(async (kept) => {
      const since = { after: end ?? (await begun), known };
      end = await (kept ? forgetForgotten(kept, chats, since) : chats.tombstones.end());
    });
  });
  return () => {
    endTold();
    endGap();
  };
}

/** Each server has packages of its own. One that does not run does not hear of it, and none answers. */
export const packagesElsewhere =
  "packages at other servers: those that run delete theirs now; repeat this at one that did not run";

const dropMessage = (chatId: string): JsonObject => ({ about: "drop", chat: chatId });
