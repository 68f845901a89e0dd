import { isThroughlineError } from "../errors.ts";
import { sha256 } from "../sha256.ts";
import type { LogStore } from "../storage/log-store.ts";
import type { StoredMessage } from "./message.ts";
import { instantOf, latestInstant } from "./stamp.ts";

/** What receipts call the files of messages. */
export const attachmentsPlace = "attachments";

/**
 * What is done to a chat. A clear and what the application takes back leave its bytes; forgetting leaves
 * nothing.
 */
export const losses = ["clear", "take_back", "erase", "forget"] as const;
export type Loss = (typeof losses)[number];

/** A row of a receipt: how much was removed and from where; or a place that still holds something. */
export type Removed =
  | { readonly place: string; readonly count: number }
  | { readonly unreachable: string };

/** The mark of one forgetting that has begun. */
export interface Mark {
  readonly id: string;
  readonly hash: string;
  readonly at: string;
}

/** What holds something of chats beside their logs. None of it must throw but `remove`. */
export interface OtherMemory {
  /**
   * Hears a message that an append lets be heard, once it is stored and before what is appended later, or a removal, is.
   * A crash in between, or an append of unknown outcome, leaves it unheard.
   */
  heard?(chatId: string, message: StoredMessage, client: string | undefined): void;
  /** Removes what it holds of a chat, or of one message of it. Resolves with how much that was, once it is gone. */
  remove?(
    chatId: string,
    loss: Loss,
    messageId?: string,
  ): readonly Removed[] | Promise<readonly Removed[]>;
  /** A chat is forgotten: nothing of it is left in its log. No mark: there was none. */
  forgotten?(chatId: string, mark: Mark | undefined): void;
}

/** Chats that were forgotten after some place in the log of marks. */
export interface ForgottenChats {
  /** When this chat was last forgotten, in milliseconds since 1970. `undefined`: it was not. */
  at(chatId: string): number | undefined;
  /** Whether the chat of this id that was created at this instant was forgotten: clocks are set, and one may come after. */
  holds(chatId: string, createdAt: string): boolean;
  /** The marks of those whose forgetting has begun and not ended, by the hash of the chat. */
  readonly begun: ReadonlyMap<string, Mark>;
  readonly isEmpty: boolean;
  /** Where the log ends. */
  readonly end: number;
}

const key = "chats";

/** So many of a chat's newest messages are remembered by their hash: a client repeats its last few writes. */
const maxMessages = 256;

/** What the id of a mark ends in when the forgetting has ended. */
const doneSuffix = /-done$/;

type MarkInput = Pick<Mark, "id" | "at">;

/**
 * Which chats were forgotten, and when: hashes of their ids, never the ids. Written before anything is
 * removed, so that a crash midway is finished at the next start; kept, so that an import does not
 * bring back what a person asked to forget.
 */
export class Tombstones {
  readonly #logs: LogStore;
  /** The numbers of the marks that name messages, by the hash of their chat. */
  readonly #places = new Map<string, number[]>();
  #placesEnd = 0;

  constructor(logs: LogStore) {
    this.#logs = logs;
  }

  /**
   * Marks a chat, unless the disk is full: then `undefined`.
   *
   * @param messageIds of what people said in it, oldest first.
   * @param created_at of its head, if it has one.
   */
  async begin(
    chatId: string,
    given: MarkInput,
    messageIds: readonly string[],
    created_at?: string,
  ): Promise<Mark | undefined> {
    const mark = { ...given, hash: hashOf(chatId) };
    const messages = messageIds.slice(-maxMessages).map(shortHashOf);
    try {
      const begun = { ...mark, state: "begun", messages };
      await this.#logs.append(key, [created_at === undefined ? begun : { ...begun, created_at }]);
      return mark;
    } catch (error) {
      if (isThroughlineError(error, "THROUGHLINE_UNAVAILABLE")) return undefined;
      throw error;
    }
  }

  /**
   * Whether a message was forgotten with its chat, so that its repetition must not bring it back. Knows
   * the newest 256 messages of people in each forgotten chat.
   */
  async holds(chatId: string, messageId: string): Promise<boolean> {
    for await (const { seq, hash, messages } of this.#logs.read(key, { after: this.#placesEnd })) {
      this.#placesEnd = seq;
      if (!Array.isArray(messages) || messages.length === 0) continue;
      this.#places.set(String(hash), [...(this.#places.get(String(hash)) ?? []), seq]);
    }
    for (const seq of this.#places.get(hashOf(chatId)) ?? []) {
      const [mark] = await this.#logs.page(key, { after: seq - 1, limit: 1 });
      const messages = mark?.["messages"];
      if (Array.isArray(messages) && messages.includes(shortHashOf(messageId))) return true;
    }
    return false;
  }

  async finish(mark: Mark): Promise<void> {
    await this.#logs.append(key, [{ ...mark, id: `${mark.id}-done`, state: "done" }]);
  }

  /**
   * Reads which chats were forgotten after a place in the log, those that are being forgotten among them.
   *
   * @param known ids of marks that do not count.
   */
  async after(place: number, known: ReadonlySet<string> = new Set()): Promise<ForgottenChats> {
    const times = new Map<string, number>();
    const begun = new Map<string, Mark>();
    const created = new Set<string>();
    let end = place;
    for await (const record of this.#logs.read(key, { after: place })) {
      const { id, seq, hash, at, state, created_at } = record;
      end = seq;
      if (known.has(id.replace(doneSuffix, ""))) continue;
      if (created_at !== undefined) created.add(`${String(created_at)} ${String(hash)}`);
      const mark = { id, hash: String(hash), at: String(at) };
      if (state === "begun") begun.set(mark.hash, mark);
      else begun.delete(mark.hash);
      // A mark without a readable time counts for everything that is kept.
      const time = instantOf(at) ?? latestInstant;
      times.set(mark.hash, Math.max(times.get(mark.hash) ?? Number.NEGATIVE_INFINITY, time));
    }
    const timeOf = (chatId: string) => times.get(hashOf(chatId));
    const holds = (chatId: string, createdAt: string) =>
      created.has(`${createdAt} ${hashOf(chatId)}`);
    return { at: timeOf, holds, begun, isEmpty: times.size === 0, end };
  }

  /** Where the marks end. */
  async end(): Promise<number> {
    return (await this.#logs.tail(key, 0))?.seq ?? 0;
  }
}

export const hashOf = (chatId: string): string => sha256(chatId).toString("hex");

const shortHashOf = (messageId: string): string => hashOf(messageId).slice(0, 16);
