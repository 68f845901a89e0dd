import { isThroughlineError } from "../core/errors.ts";
import type { NewId } from "../core/ids.ts";
import { isJsonObject, type JsonObject } from "../core/json.ts";
import type { DocumentStore } from "../core/storage/document-store.ts";
import { companionLease } from "../core/storage/leases.ts";
import type { Storage } from "../core/storage/storage.ts";
import { documentKey, repairedPrefix } from "./boot.ts";
import { companionLimits, type ReadDocument, readCompanionDocument } from "./companion-document.ts";
import { ConversationCopy } from "./conversation-copy.ts";
import { ownField } from "./own-fields.ts";

const attempts = 5;

/**
 * Drops what the companion document holds of a chat while no run of the companion is up, and what
 * copies of it hold.
 *
 * @returns how many messages that were.
 * @throws ThroughlineError `THROUGHLINE_NEWER_FORMAT`: a later version wrote the document.
 */
export async function forgetInDocument(storage: Storage, chatId: string): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await forgetOnce(storage, chatId);
    } catch (error) {
      // Somebody wrote a newer one meanwhile: that is the one to change.
      const isBehind = isThroughlineError(error, "THROUGHLINE_CONFLICT");
      if (attempt >= attempts || !isBehind) throw error;
    }
  }
}

async function forgetOnce(storage: Storage, chatId: string): Promise<number> {
  const documents = storage.documents("session");
  const stored = await documents.read(documentKey);
  const read = stored && readCompanionDocument(stored.value);
  let count = 0;
  if (stored !== undefined && read !== undefined) {
    const copy = new ConversationCopy(read.document);
    count = copy.forget(chatId);
    const value = { ...stored.value, ...without(chatId, read, copy, count > 0) };
    // What no JSON holds becomes null here, as it would be read.
    const plain = JSON.parse(JSON.stringify(value)) as JsonObject;
    await documents.write(documentKey, plain, { expectedRevision: stored.revision });
    await documents.forgetCopies(documentKey);
  }
  await forgetRepaired(documents, chatId);
  return count;
}

/**
 * The same where other processes may have the companion: whoever keeps it drops it there, or, where
 * nobody does, nobody begins to while the document is changed.
 */
export async function forgetLeft(
  ports: { readonly storage: Storage; readonly newId: NewId },
  chatId: string,
): Promise<number> {
  const { storage, newId } = ports;
  const { leases, cluster } = storage;
  if (!cluster.isShared) return forgetInDocument(storage, chatId);
  const id = newId();
  const request = { do: "forget", chat: chatId };
  const ask = () => cluster.publish({ about: "companion", say: "ask", id, request });
  const { promise: answered, resolve } = Promise.withResolvers<number>();
  const endTold = cluster.subscribe((told) => {
    if (told["about"] !== "companion") return;
    const isAnswer = told["say"] === "answer" && told["id"] === id && told["code"] === undefined;
    if (isAnswer) resolve(Number(told["count"]));
    else if (told["say"] === "up" && told["keeps"] === true) ask();
  });
  const endGap = cluster.onMissed(ask);
  const waiting = new AbortController();
  const alone = leases.acquire(companionLease, { signal: waiting.signal }).then(async (lease) => {
    try {
      return await forgetInDocument(storage, chatId);
    } finally {
      await lease.release();
    }
  });
  try {
    ask();
    return await Promise.race([answered, alone]);
  } finally {
    waiting.abort();
    endTold();
    endGap();
  }
}

function without(
  chatId: string,
  read: ReadDocument,
  copy: ConversationCopy,
  isChanged: boolean,
): JsonObject {
  const { document } = read;
  const deliveries = ownField(document, "deliveries");
  const told = isJsonObject(deliveries) ? deliveries["told"] : undefined;
  const fewer =
    isJsonObject(deliveries) && isJsonObject(told)
      ? { deliveries: { ...deliveries, told: withoutKey(told, chatId) } }
      : undefined;
  const own: JsonObject = { ...(document.throughline as JsonObject), ...fewer };
  // What cannot be read as a conversation may hold words of any chat.
  if (!isChanged && !isConversationRepaired(read)) return fewer ? { throughline: own } : {};
  return {
    conversation: copy.messages.slice(-companionLimits.conversation).map(({ role, text, at }) => ({
      ...{ role, text },
      timestamp: at === undefined ? null : at / 1_000,
    })),
    throughline: { ...own, conversation_chats: copy.chats },
  };
}

/**
 * Deletes the copies of documents that were repaired, but for those that hold nothing of the chat: a
 * copy keeps everything as it was found, and nobody can tell what of it is whose.
 */
export async function forgetRepaired(documents: DocumentStore, chatId: string): Promise<void> {
  for (const key of await documents.keys()) {
    if (!key.startsWith(repairedPrefix)) continue;
    const stored = await documents.read(key);
    if (stored !== undefined && mayHold(stored.value, chatId)) await documents.delete(key);
  }
}

function mayHold(value: JsonObject, chatId: string): boolean {
  const read = readCompanionDocument(value);
  if (read === undefined || isConversationRepaired(read)) return true;
  const deliveries = ownField(read.document, "deliveries");
  const told = isJsonObject(deliveries) ? deliveries["told"] : undefined;
  if (isJsonObject(told) && Object.hasOwn(told, chatId)) return true;
  return new ConversationCopy(read.document).forget(chatId) > 0;
}

function isConversationRepaired({ repaired }: ReadDocument): boolean {
  return repaired.some((said) => /\bconversation\b/.test(said));
}

function withoutKey(from: JsonObject, key: string): JsonObject {
  return Object.fromEntries(Object.entries(from).filter(([name]) => name !== key)) as JsonObject;
}
