import { hashOf } from "../core/chat/tombstones.ts";
import type { Clock } from "../core/clock.ts";
import { isThroughlineError } from "../core/errors.ts";
import { isJsonObject, type JsonObject } from "../core/json.ts";
import type { DocumentStore } from "../core/storage/document-store.ts";
import type { Storage } from "../core/storage/storage.ts";
import { ActLog, actsOfChats, eraseActs } from "./act-log.ts";
import type { Act } from "./acts.ts";
import { repairedPrefix } from "./boot.ts";
import { documentKey, type ReadDocument, readCompanionDocument } from "./companion-document.ts";
import { type Copied, copiedIn, withoutChat } from "./fold.ts";
import { positionIn } from "./left.ts";
import type { CompanionPorts } from "./options.ts";
import { ownField } from "./own-fields.ts";
import { runsProjection } from "./runs.ts";

const attempts = 5;

/**
 * Removes what the companion document holds of a chat while no run of the companion is up, and what
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
      // A newer one was written since we read it: change that one.
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
    const before = copiedIn(read.document);
    const copy = withoutChat(before, hashOf(chatId));
    count = before.length - copy.length;
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
 * The chats of which something is kept, and when the oldest message of each was said. Never (`Infinity`):
 * no message is kept, but the chat acknowledged a restart.
 */
export async function keptChats(storage: Storage): Promise<ReadonlyMap<string, number>> {
  const oldest = new Map<string, number>();
  const note = (chatId: string, at: number) =>
    oldest.set(chatId, Math.min(at, oldest.get(chatId) ?? Number.POSITIVE_INFINITY));
  const documents = storage.documents("session");
  for (const key of await documents.keys()) {
    const stored = await documents.read(key);
    const read = stored && readCompanionDocument(stored.value);
    if (read === undefined) continue;
    for (const { chatId, at } of copiedIn(read.document)) {
      if (chatId !== undefined) note(chatId, at ?? Number.NEGATIVE_INFINITY);
    }
    for (const chatId of Object.keys(acknowledgedIn(read))) note(chatId, Number.POSITIVE_INFINITY);
  }
  for await (const act of actsOfChats(storage.logs("", runsProjection))) {
    const isSaid = act.kind === "said" || act.kind === "replied";
    note(act.chat, isSaid ? act.at : Number.POSITIVE_INFINITY);
  }
  return oldest;
}

function acknowledgedIn({ document }: ReadDocument): JsonObject {
  const deliveries = ownField(document, "deliveries");
  const told = isJsonObject(deliveries) ? deliveries["told"] : undefined;
  return isJsonObject(told) ? told : {};
}

/**
 * The same, and in the log of acts, also where other processes have the companion: they read there that
 * the chat was forgotten, and forget what they know of it.
 */
export async function forgetLeft(
  ports: Pick<CompanionPorts, "storage" | "newId"> & { readonly clock: Clock },
  chatId: string,
): Promise<number> {
  const { storage, newId } = ports;
  const at = ports.clock.now();
  const id = newId();
  const forgot: Act = { kind: "forgot", hash: hashOf(chatId), id, felt: 0, at, reading: { at } };
  for (;;) {
    const log = await ActLog.open(storage.logs("", runsProjection), undefined);
    await log?.readOn();
    if (log === undefined || (await log.append([forgot]))) break;
  }
  storage.cluster.publish({ about: "companion", say: "acts" });
  return forgetStored(storage, chatId);
}

/** Removes what is stored of a chat: in the document, in its copies, and in the acts. */
export async function forgetStored(storage: Storage, chatId: string): Promise<number> {
  const stored = await storage.documents("session").read(documentKey);
  const covered = positionIn(stored && readCompanionDocument(stored.value)?.document);
  const count = await forgetInDocument(storage, chatId);
  return count + (await eraseActs(storage.logs("", runsProjection), chatId, covered));
}

function without(
  chatId: string,
  read: ReadDocument,
  copy: readonly Copied[],
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
    conversation: copy.map(({ role, text, at }) => ({
      role,
      text,
      timestamp: at === undefined ? null : at / 1_000,
    })),
    throughline: { ...own, conversation_chats: copy.map((each) => each.chatId ?? null) },
  };
}

/**
 * Deletes the copies of documents that were repaired, but for those that hold nothing of the chat: a
 * copy keeps everything as it was found, and its parts cannot be assigned to chats.
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
  if (Object.hasOwn(acknowledgedIn(read), chatId)) return true;
  const copied = copiedIn(read.document);
  return withoutChat(copied, hashOf(chatId)).length < copied.length;
}

function isConversationRepaired({ repaired }: ReadDocument): boolean {
  return repaired.some((said) => /\bconversation\b/.test(said));
}

function withoutKey(from: JsonObject, key: string): JsonObject {
  return Object.fromEntries(Object.entries(from).filter(([name]) => name !== key)) as JsonObject;
}
