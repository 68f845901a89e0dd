import { hashOf } from "../core/chat/tombstones.ts";
import type { Clock } from "../core/clock.ts";
import { isThroughlineError } from "../core/errors.ts";
import type { Storage } from "../core/storage/storage.ts";
import { ActLog, actsOfChats, eraseActs } from "./act-log.ts";
import type { Act } from "./acts.ts";
import { withoutForgotten } from "./client-runs.ts";
import { companionDocument, documentKey, findDocument } from "./companion-document.ts";
import { copiedIn, withoutChat } from "./fold.ts";
import type { CompanionPorts } from "./options.ts";
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
  const { document, revision: expectedRevision } = await findDocument(documents);
  if (document === undefined) {
    await documents.forgetCopies(documentKey); // they may hold words of any chat
    return 0;
  }
  const before = copiedIn(document);
  const copy = withoutChat(before, hashOf(chatId));
  const { own } = document;
  const { told = {}, restarts = [] } = own.deliveries ?? {};
  const changed = companionDocument({
    ...document,
    conversation: copy,
    own: {
      ...own,
      clients: withoutForgotten(own.clients, hashOf(chatId)),
      conversationChats: copy.map((each) => each.chatId),
      deliveries: own.deliveries && { restarts, told: withoutKey(told, chatId) },
    },
  });
  await documents.write(documentKey, changed, { expectedRevision });
  await documents.forgetCopies(documentKey);
  return before.length - copy.length;
}

/**
 * The chats of which something is kept, and when the oldest message of each was said. Never (`Infinity`):
 * no message is kept, but the chat acknowledged a restart.
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
  for (const chatId of [...Object.keys(document?.own.deliveries?.told ?? {}), ...spoken]) {
    note(chatId, Number.POSITIVE_INFINITY);
  }
  for await (const act of actsOfChats(storage.logs("", runsProjection))) {
    const isSaid = act.kind === "said" || act.kind === "replied";
    note(act.chat, isSaid ? act.at : Number.POSITIVE_INFINITY);
  }
  return oldest;
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

/** Removes what is stored of a chat: in the document, in its copies (all of what was set aside), and in the acts. */
export async function forgetStored(storage: Storage, chatId: string): Promise<number> {
  const { document } = await findDocument(storage.documents("session"));
  const covered = document?.own.acts;
  const count = await forgetInDocument(storage, chatId);
  return count + (await eraseActs(storage.logs("", runsProjection), chatId, covered));
}

function withoutKey<T>(from: Readonly<Record<string, T>>, key: string): Record<string, T> {
  return Object.fromEntries(Object.entries(from).filter(([name]) => name !== key));
}
