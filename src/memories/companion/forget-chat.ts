import type { JsonObject } from "../../json.ts";
import type { Storage } from "../../storage/storage.ts";
import { documentKey } from "./boot.ts";
import { companionLimits, readCompanionDocument } from "./companion-document.ts";
import { ConversationCopy } from "./conversation-copy.ts";

/**
 * Drops what the companion document holds of a chat while no run of the companion is up. The document
 * is written twice, so that its backup holds nothing of it either.
 *
 * @returns how many messages that were.
 * @throws ThroughlineError `THROUGHLINE_NEWER_FORMAT`: a later version wrote the document.
 */
export async function forgetInDocument(storage: Storage, chatId: string): Promise<number> {
  const documents = storage.documents("session");
  const stored = await documents.read(documentKey);
  const read = stored && readCompanionDocument(stored.value);
  if (stored === undefined || read === undefined) return 0;
  const copy = new ConversationCopy(read.document);
  const count = copy.forget(chatId);
  if (count === 0) return 0;
  const kept = copy.messages.slice(-companionLimits.conversation);
  const value: JsonObject = {
    ...stored.value,
    conversation: kept.map(({ role, text, at }) => ({
      ...{ role, text },
      timestamp: at === undefined ? null : at / 1_000,
    })),
    throughline: { ...read.document.throughline, conversation_chats: copy.chats } as JsonObject,
  };
  await documents.write(documentKey, value);
  await documents.write(documentKey, value);
  return count;
}
