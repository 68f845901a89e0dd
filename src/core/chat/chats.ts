import type { Found } from "../answer-size.ts";
import { conflict, errorName, idConflict, invalid } from "../errors.ts";
import type { JsonObject } from "../json.ts";
import { anObject, checkArgument } from "../options.ts";
import { checkCount } from "../storage/key.ts";
import { type LogStore, type StoredRecord, update } from "../storage/log-store.ts";
import {
  type ChatHead,
  type ChatRow,
  chatRow,
  checkMetadata,
  readHead,
  titleFrom,
  titleOf,
} from "./chat-head.ts";
import { alreadyThere, ChatLog, checkChatId, notFound } from "./chat-log.ts";
import { eraseFrom, takeBackFrom } from "./erasure.ts";
import { assertParts } from "./exact.ts";
import {
  type ForgetReceipt,
  finishForgetting,
  forgetChat,
  type RemovalReceipt,
  summed,
} from "./forget.ts";
import { copiesOf, forkedFrom, forksAt, forksOf } from "./forks.ts";
import { shownMessages } from "./marks.ts";
import { isMessage, type StoredMessage } from "./message.ts";
import { type MessageInput, roleOf } from "./message-input.ts";
import { type MessagePage, messagePage, type PageWanted } from "./message-page.ts";
import { endPeriod } from "./provider-sessions.ts";
import { checkMessageId, controlId } from "./record-ids.ts";
import {
  damagedChats,
  type FindChatsOptions,
  type FindMessagesOptions,
  type FoundChat,
  findChats,
  type MessageHit,
  searchChats,
} from "./search-chats.ts";
import { stampOf } from "./stamp.ts";
import type { Removed } from "./tombstones.ts";
import type { Transaction } from "./transaction.ts";
import { type Copied, copyable, writeMessages } from "./write-messages.ts";

/**
 * The transcripts: what was said, word for word, until a person asks to forget it. Nothing that is
 * stored is ever changed to record something new: a clear and every setting are records.
 */
export class Chats extends ChatLog {
  /**
   * Adds messages to the end of a chat, all or none, creating the chat on first use. Only what is
   * new is written. A message whose id the chat holds with the same role and content is passed over,
   * also one that was taken back; in one call, every id may be given once.
   *
   * What is new and said now (no `timestamp`, or one within 60 s of the clock) is also heard, as in a turn:
   * working memory and extensions get it.
   *
   * @param options `heard: false` only stores. `client`: the program whose run says this.
   * @returns the messages as they are stored, in the same order.
   * @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_TOO_LARGE`, `THROUGHLINE_ID_CONFLICT`.
   */
  async append(
    chatId: string,
    messages: readonly MessageInput[],
    options: { readonly heard?: boolean | undefined; readonly client?: string | undefined } = {},
  ): Promise<StoredMessage[]> {
    checkArgument(options, "options", anObject);
    const { heard = true, client } = options;
    if (!Array.isArray(messages)) throw invalid("messages must be an array");
    return this.change(chatId, (transaction) => {
      const hear = (one: StoredMessage) => heard && transaction.hear(one, client);
      for (const each of messages) {
        if (!transaction.isNew(each)) return this.#appendEach(transaction, messages, hear);
      }
      const stored = messages.map((each) => this.#add(transaction, each));
      stored.forEach(hear);
      return stored;
    });
  }

  /** The same for one message of a larger change. @param isNew nothing is stored under its id. */
  async appendTo(
    transaction: Transaction,
    message: MessageInput,
    isNew = transaction.isNew(message),
  ): Promise<StoredMessage> {
    const { logs } = this;
    const { chatId } = transaction;
    const known = isNew ? undefined : await logs.find(chatId, String(message.id));
    if (known !== undefined) {
      const isSame = isMessage(known) && known.role === roleOf(message);
      if (isSame && known.content === message.content) return known;
      throw idConflict("a message with this id and other content is stored already");
    }
    if (message?.["exact"] !== undefined) await assertParts(logs, chatId, message);
    return this.#add(transaction, message);
  }

  async #appendEach(
    transaction: Transaction,
    messages: readonly MessageInput[],
    onNew: (stored: StoredMessage) => void,
  ): Promise<StoredMessage[]> {
    const stored: StoredMessage[] = [];
    for (const message of messages) {
      const { seq } = transaction;
      const one = await this.appendTo(transaction, message);
      if (one.seq > seq) onNew(one);
      stored.push(one);
    }
    return stored;
  }

  /** Adds a message under whose id nothing is stored. */
  #add(transaction: Transaction, message: MessageInput): StoredMessage {
    checkMessageId(message?.id);
    const added = transaction.message(message);
    transaction.newIds.add(added.id);
    return added;
  }

  /**
   * A page of messages, oldest first within the page; without `before` the newest. What a clear hid
   * or `takeBack` took is left out. Where an erased message stood is a mark: its id and `redacted: true`. A
   * page ends before `limit` where its messages hold 4 MiB; as long as there may be more, it comes with a
   * `before`.
   *
   * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`, `THROUGHLINE_INVALID`.
   */
  async messages(chatId: string, options: PageWanted = {}): Promise<MessagePage> {
    checkArgument(options, "options", anObject);
    return messagePage(this, chatId, options);
  }

  /** Every record of a chat, oldest first, in bounded memory. */
  async *records(chatId: string): AsyncIterable<StoredRecord> {
    await this.existing(chatId);
    yield* this.logs.read(chatId);
  }

  /** The message with this id. @throws ThroughlineError `THROUGHLINE_NOT_FOUND`. */
  async message(chatId: string, messageId: string): Promise<StoredMessage> {
    const message = await this.find(chatId, messageId);
    if (message !== undefined) return message;
    await this.existing(chatId); // where there is no chat either, that is the news
    throw notFound(chatId, "message");
  }

  /** The message with this id, if there is one that was not taken back. */
  async find(chatId: string, messageId: string): Promise<StoredMessage | undefined> {
    const record = await this.logs.find(chatId, messageId);
    const found = record !== undefined && isMessage(record) ? [record] : [];
    const [message] = await shownMessages(this.logs, chatId, found);
    return message;
  }

  /**
   * The bytes of a file that was sent with a message of the chat: see `StoredMessage.attachments`.
   *
   * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`, `THROUGHLINE_INVALID`; `THROUGHLINE_CORRUPT`: the
   *   stored bytes are damaged.
   */
  async attachment(chatId: string, sha256: string): Promise<Uint8Array> {
    checkChatId(chatId);
    const bytes = await this.files.get(chatId, sha256);
    if (bytes === undefined) throw notFound(chatId, "file");
    return bytes;
  }

  /**
   * Starts afresh: what was said stays in the file, and is neither shown nor sent to a model any
   * more. Metadata stays. The provider sessions end too: they would remember.
   *
   * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`.
   */
  async clear(chatId: string): Promise<void> {
    await this.changeExisting(chatId, (transaction) => {
      const { head } = transaction;
      const clearSeq = transaction.control("clear", {});
      endPeriod(transaction, clearSeq);
      transaction.set({
        clear_seq: clearSeq,
        cleared_count: head.message_count,
        last_consolidated: head.message_count,
        // One that a person chose stays.
        title: head.title_of === undefined ? head.title : "",
        title_of: undefined,
      });
    });
    await this.removeElsewhere(chatId, "clear");
  }

  /**
   * Gives a chat a title of a person's choice, cut at 120 code points; "" takes it back: then it is
   * the first thing again that a person said.
   *
   * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`, `THROUGHLINE_INVALID`.
   */
  async rename(chatId: string, title: string): Promise<void> {
    if (typeof title !== "string") throw invalid("title must be a string");
    const chosen = titleFrom(title);
    await update(async () => {
      const from = await this.changeExisting(chatId, async (transaction) => {
        const after = transaction.head.clear_seq ?? 0;
        const first = chosen === "" ? await firstWords(this.logs, chatId, after) : undefined;
        transaction.control("metadata", { title: chosen });
        transaction.set({ title: first ? titleOf(first) : chosen, title_of: first?.id });
        return first?.id;
      });
      // What another process erased while it was read here must not stay as the title.
      const isThere = from === undefined || (await this.find(chatId, from)) !== undefined;
      if (!isThere) throw conflict("the message of the title was erased at the same time");
    });
  }

  /**
   * Replaces the user's metadata. The key `user_timezone`, an IANA zone, is the chat's own: its days
   * begin there, whatever is configured.
   *
   * @throws ThroughlineError `THROUGHLINE_INVALID`: no object, or `user_timezone` is no known zone.
   * @throws ThroughlineError `THROUGHLINE_TOO_LARGE`: more than 32 KiB of JSON.
   */
  async setMetadata(chatId: string, metadata: JsonObject): Promise<void> {
    checkMetadata(metadata);
    await this.changeExisting(chatId, (transaction) => {
      transaction.control("metadata", { metadata });
      transaction.set({ metadata });
    });
  }

  /**
   * Records that the first `count` messages that are visible were summarised elsewhere.
   *
   * @throws ThroughlineError `THROUGHLINE_INVALID`: there are not so many.
   */
  async setConsolidated(chatId: string, count: number): Promise<void> {
    await this.changeExisting(chatId, (transaction) => consolidateIn(transaction, count));
  }

  /**
   * The application takes messages of a chat back, all or none in one append: for an edited question, an
   * answer that is made again, items that an agent pops. When this resolves, no model gets them, and they are
   * in no page, search, export, later fork or count. Unlike `erase` it leaves no mark where they stood, and
   * reaches no other chat and no package. Their bytes stay until `erase` or `forget`, and `append` stores
   * nothing under their ids. A fork that was begun before may hold them; this waits until it is made. Taking
   * back twice is taking back once. What waits for its answer is not answered any more.
   *
   * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: one of these is no message of the chat, or was
   *   cleared. `THROUGHLINE_TOO_LARGE`: more than 1,000 at once. `THROUGHLINE_INVALID`. Nothing is changed.
   */
  async takeBack(chatId: string, ids: readonly string[]): Promise<void> {
    if (!Array.isArray(ids) || !ids.every((id) => typeof id === "string")) {
      throw invalid("ids must be an array of strings");
    }
    const targets = new Set(ids);
    const { logs } = this;
    await this.changeExisting(chatId, (made) => takeBackFrom(made, targets, logs));
    for (const id of targets) await this.removeElsewhere(chatId, "take_back", id);
    for await (const _ of forksAt(this, chatId));
  }

  /**
   * Removes one message and its bytes: from the log and everything derived from it, the chats that hold a
   * copy of it and the packages of moments among that; and the files that no other message of the chat
   * refers to. Its id stays used, and pages have a mark where it stood. One that waits for its turn is not answered any more,
   * and no provider resumes a session of its own that may remember it. This is the one operation that rewrites the log. Unreadable bytes of the log are removed too, as their content is unknown: the
   * receipt counts them as `damaged_bytes`.
   *
   * @returns what that reached; `erased`: there was something left to remove in this chat.
   * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: there is no such chat, or this is no message of it.
   * @throws ThroughlineError `THROUGHLINE_CONFLICT`: others wrote to the chat all the time; try again.
   */
  async erase(
    chatId: string,
    messageId: string,
  ): Promise<RemovalReceipt & { readonly erased: boolean }> {
    await this.existing(chatId);
    const removed: Removed[] = [];
    const eraseIn = async (id: string) => {
      const erased = await this.eraseRecords(id, (made) => eraseFrom(made, messageId, this));
      removed.push(...erased.removed);
      return erased.count;
    };
    const erased = await eraseIn(chatId);
    removed.push(...(await this.removeElsewhere(chatId, "erase", messageId)));
    const copies: string[] = [];
    for await (const { chatId: copy, isThere } of copiesOf(this, chatId, messageId)) {
      try {
        if (isThere) await eraseIn(copy);
        removed.push(...(await this.removeElsewhere(copy, "erase", messageId)));
        if (isThere) copies.push(copy);
      } catch (error) {
        this.ports.logger.warn({ error: errorName(error) }, "a copy of a message was not removed");
        const chat = JSON.stringify(copy);
        removed.push({ unreachable: `the chat ${chat}, which holds a copy: erase it there` });
      }
    }
    copies.sort();
    const receipt = { chat_id: chatId, message_id: messageId, copies, ...summed(removed) };
    return { ...receipt, erased: erased > 0 };
  }

  /**
   * Records a summary that stands for everything up to `upToSeq`, for models only: the transcript stays
   * whole, and the newest summary counts. Renews no period.
   *
   * @throws ThroughlineError `THROUGHLINE_INVALID`: an empty summary, or a place that is not in the chat.
   */
  async compact(chatId: string, upToSeq: number, summary: string): Promise<void> {
    await this.changeExisting(chatId, (transaction) => compactIn(transaction, upToSeq, summary));
  }

  /**
   * Copies a chat up to and including one message into a new chat, with the files of its messages; of the answers
   * to a message the one that is shown, or the last message itself. What was taken back or cleared is
   * not copied, and provider sessions start fresh. Both chats name each other in their heads.
   *
   * @param messageId `undefined` copies nothing: for another beginning.
   * @throws ThroughlineError `THROUGHLINE_CONFLICT`: the new chat exists. `THROUGHLINE_NOT_FOUND`.
   */
  async fork(chatId: string, messageId: string | undefined, newChatId: string): Promise<ChatRow> {
    checkChatId(newChatId);
    const { head } = await this.existing(chatId);
    const after = head.clear_seq ?? 0;
    const until = messageId === undefined ? undefined : await this.find(chatId, messageId);
    if (messageId !== undefined && (until?.seq ?? 0) <= after) throw notFound(chatId, "message");
    if ((await this.state(newChatId)).head !== undefined) throw alreadyThere(newChatId);
    const source = copyable(this.logs, this.files, chatId, { after, until });
    await this.write(newChatId, source, {
      metadata: head.metadata,
      forked_from: forkedFrom(chatId, messageId, head),
    });
    return this.row(newChatId);
  }

  /**
   * Writes a new chat from messages and files that exist already, in appends of bounded size. Until the last one
   * is stored the chat is marked unfinished, and a start after a crash removes it.
   *
   * @throws ThroughlineError `THROUGHLINE_CONFLICT`: the chat exists.
   */
  async write(
    chatId: string,
    messages: AsyncIterable<Copied>,
    head: Partial<ChatHead>,
  ): Promise<void> {
    // Alone, so that a process that starts during this does not take the chat for a cut-off one.
    return this.alone(chatId, () => writeMessages(this, chatId, { messages, head }));
  }

  /** One row of the list. @throws ThroughlineError `THROUGHLINE_NOT_FOUND`. */
  async row(chatId: string): Promise<ChatRow> {
    const { head, damaged } = await this.existing(chatId);
    return chatRow(chatId, head, damaged);
  }

  /** Chats, the one in which a person acted last first. Opens no transcript. */
  async list(
    options: {
      readonly limit?: number | undefined;
      readonly cursor?: string | undefined;
      readonly unanswered?: boolean | undefined;
      /** Only chats of which stored bytes were found damaged: looks through the rows of all, in one page. */
      readonly damaged?: boolean | undefined;
    } = {},
  ): Promise<{ readonly chats: readonly ChatRow[]; readonly cursor?: string }> {
    checkArgument(options, "options", anObject);
    const { limit = 50, cursor, unanswered = false, damaged = false } = options;
    if (damaged && cursor !== undefined) throw invalid("a list with damaged chats has no cursor");
    if (damaged) return { chats: await damagedChats(this, { limit, unanswered }) };
    const page = await this.logs.list({
      limit,
      cursor,
      label: unanswered ? "unanswered" : undefined,
    });
    const chats = page.rows.map(({ key, head, damaged }) => chatRow(key, readHead(head), damaged));
    return page.cursor === undefined ? { chats } : { chats, cursor: page.cursor };
  }

  /**
   * Messages that hold every word of the query: the chats in the order of `list`, and the messages
   * of each newest first. What was cleared or taken back is left out, and counts for no limit. Only the
   * newest 1,000 hits are looked at: where there may be others, the answer has `more`.
   *
   * @param options `prefix`: the last word is the beginning of a word, for a query that is being typed.
   */
  async search(query: string, options: FindMessagesOptions = {}): Promise<Found<MessageHit>> {
    checkArgument(options, "options", anObject);
    return searchChats(this, query, options);
  }

  /**
   * The chats that hold every word of the query in a message, each with the newest and with how many
   * there are (up to 100), or in their title and id: in the order of `list`. What was cleared
   * or taken back is left out. Only the newest 1,000 hits are looked at, and the titles and ids of the
   * first 10,000 chats: where there may be other hits, the answer has `more`.
   */
  async findChats(query: string, options: FindChatsOptions = {}): Promise<Found<FoundChat>> {
    checkArgument(options, "options", anObject);
    return findChats(this, query, options);
  }

  /**
   * Forgets a chat wherever it is: see `ForgetReceipt`. What a crash or a failure cuts short is finished at
   * the next start. While another process runs a turn in it, this waits.
   */
  async forget(chatId: string): Promise<ForgetReceipt> {
    checkChatId(chatId);
    const receipt = await this.alone(chatId, () => forgetChat(this, chatId));
    return { ...receipt, forks: await forksOf(this, chatId) };
  }

  /** When this chat was last forgotten, ISO 8601. What is older must not come back by an import. */
  async forgottenAt(chatId: string): Promise<string | undefined> {
    checkChatId(chatId);
    const at = (await this.tombstones.after(0)).at(chatId);
    return at === undefined ? undefined : stampOf(at);
  }

  /** Finishes what a dead process began: see `finishForgetting`. */
  recover(recreated: readonly string[] = []): Promise<void> {
    return finishForgetting(this, recreated);
  }
}

/** Does `Chats.setConsolidated` as part of a larger change. */
export function consolidateIn(transaction: Transaction, count: number): void {
  const { cleared_count: cleared = 0, message_count: all } = transaction.head;
  checkCount(count, "last_consolidated", 0, all - cleared);
  transaction.control("metadata", { last_consolidated: cleared + count });
  transaction.set({ last_consolidated: cleared + count });
}

/** Does `Chats.compact` as part of a larger change. */
export function compactIn(transaction: Transaction, upToSeq: number, summary: string): void {
  if (typeof summary !== "string" || summary.trim() === "") {
    throw invalid("summary must be a string with something in it");
  }
  const { clear_seq: clearSeq = 0, session } = transaction.head;
  checkCount(upToSeq, "up_to_seq", clearSeq + 1, transaction.seq);
  const after = Math.max(clearSeq, session?.start_seq ?? 0);
  const id = controlId("compaction", transaction.newId());
  const scope = { up_to_seq: upToSeq, after_seq: Math.min(after, upToSeq) };
  transaction.control("compaction", { ...scope, summary }, id);
  transaction.set({ summary: { id, ...scope } });
}

/** The first thing that a person said or sent after this record, that is shown and is more than space. */
async function firstWords(
  logs: Pick<LogStore, "findAll" | "read">,
  chatId: string,
  after: number,
): Promise<StoredMessage | undefined> {
  for await (const record of logs.read(chatId, { after })) {
    if (!isMessage(record) || record.role !== "user" || record.hidden) continue;
    if (record.synthetic !== undefined) continue;
    const [shown] = await shownMessages(logs, chatId, [record]);
    if (shown !== undefined && titleOf(shown) !== "") return shown;
  }
  return undefined;
}
