import { hashOf } from "../core/chat/tombstones.ts";
import type { Clock } from "../core/clock.ts";
import { update } from "../core/storage/log-store.ts";
import type { Storage } from "../core/storage/storage.ts";
import { companionDocument, documentKey, findDocument, withoutChat } from "./companion-document.ts";

/**
 * Lists the chats of which something is kept, and when the oldest message of each was said. `Infinity`: no
 * message is kept, but a client appended to the chat.
 */
export async function keptChats(storage: Storage): Promise<ReadonlyMap<string, number>> {
  const { document } = await findDocument(storage.documents("session"));
  const { conversation = [], clients = [] } = document ?? {};
  const appended = clients.flatMap(({ chats, chatsBefore }) => [...chats, ...chatsBefore]);
  const said = conversation.flatMap(({ chatId, at = 0 }) => {
    return chatId === undefined ? [] : [[chatId, at] as const];
  });
  return new Map([
    ...appended.map((chatId) => [chatId, Number.POSITIVE_INFINITY] as const),
    ...said.toSorted(([, a], [, b]) => b - a), // of one chat the last counts
  ]);
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
  const documents = storage.documents("session");
  // A newer document was written since it was read: change that one.
  const count = await update(async () => {
    const { document, revision: expectedRevision } = await findDocument(documents);
    if (document === undefined) return 0;
    const changed = withoutChat(document, hashOf(chatId), clock.now());
    await documents.write(documentKey, companionDocument(changed), { expectedRevision });
    return document.conversation.length - changed.conversation.length;
  });
  await documents.forgetCopies(documentKey); // they may hold words of any chat
  storage.cluster.publish({ about: "companion", say: "changed" });
  return count;
}
