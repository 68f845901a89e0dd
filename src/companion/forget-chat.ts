import { hashOf } from "../core/chat/tombstones.ts";
import type { Clock } from "../core/clock.ts";
import { update } from "../core/storage/log-store.ts";
import type { Storage } from "../core/storage/storage.ts";
import { withoutForgotten } from "./client-runs.ts";
import {
  companionDocument,
  documentKey,
  findDocument,
  type SharedFields,
} from "./companion-document.ts";
import { copiedIn, withoutChat } from "./life.ts";

async function forgetOnce(storage: Storage, chatId: string, now: number): Promise<number> {
  const documents = storage.documents("session");
  const { document, revision: expectedRevision } = await findDocument(documents);
  if (document === undefined) {
    await documents.forgetCopies(documentKey); // they may hold words of any chat
    return 0;
  }
  const before = copiedIn(document);
  const copy = withoutChat(before, hashOf(chatId));
  const { own } = document;
  const changed = companionDocument({
    ...document,
    conversation: copy,
    own: {
      ...own,
      clients: withoutForgotten(own.clients, hashOf(chatId)),
      conversationChats: copy.map((each) => each.chatId),
      shared: own.shared && withoutChatId(own.shared, chatId, now),
    },
  });
  await documents.write(documentKey, changed, { expectedRevision });
  await documents.forgetCopies(documentKey);
  return before.length - copy.length;
}

/**
 * Lists the chats of which something is kept, and when the oldest message of each was said. `Infinity`: no
 * message is kept, but a client appended to the chat.
 */
export async function keptChats(storage: Storage): Promise<ReadonlyMap<string, number>> {
  const oldest = new Map<string, number>();
  const note = (chatId: string, at: number) =>
    oldest.set(chatId, Math.min(at, oldest.get(chatId) ?? Number.POSITIVE_INFINITY));
  const { document } = await findDocument(storage.documents("session"));
  for (const { chatId, at } of copiedIn(document)) {
    if (chatId !== undefined) note(chatId, at ?? Number.NEGATIVE_INFINITY);
  }
  const spoken = (document?.own.clients ?? []).flatMap((run) => [...run.chats, ...run.chatsBefore]);
  for (const chatId of spoken) {
    note(chatId, Number.POSITIVE_INFINITY);
  }
  return oldest;
}

/**
 * Removes what the companion document and its copies hold of a chat while no run is up here, and notifies
 * servers that have the companion: they read the document again.
 *
 * @returns how many messages that were.
 * @throws ThroughlineError `THROUGHLINE_NEWER_FORMAT`: a later version wrote the document.
 */
export async function forgetLeft(
  { storage, clock }: { readonly storage: Storage; readonly clock: Clock },
  chatId: string,
): Promise<number> {
  // A newer document was written since it was read: change that one.
  const count = await update(() => forgetOnce(storage, chatId, clock.now()));
  storage.cluster.publish({ about: "companion", say: "changed" });
  return count;
}

/** Notes it for servers that still have words of the chat: they do not store them. */
function withoutChatId(shared: SharedFields, chatId: string, now: number): SharedFields {
  const { report, forgot } = shared;
  const interrupted = report.interrupted.filter((each) => each.chatId !== chatId);
  return {
    ...shared,
    report: { ...report, interrupted },
    forgot: { ...forgot, [hashOf(chatId)]: now },
  };
}
