import { isoTime } from "../clock.ts";
import type { NewId } from "../ids.ts";
import type { Json, JsonObject } from "../json.ts";
import type { LogRecord } from "../storage/log-store.ts";
import { type ChatHead, newHead, titleOf } from "./chat-head.ts";
import type { ControlKind, StoredMessage } from "./message.ts";
import { type MessageRecord, messageRecord } from "./message-input.ts";

/** A chat as it was read: where its log ends, and what the log says of the whole. */
export interface ChatState {
  /** 0: the chat does not exist. */
  readonly seq: number;
  readonly head: ChatHead | undefined;
  readonly damaged: boolean;
}

/** How far from the clock the time of a message may be that is said now, in milliseconds. */
const nowMs = 60_000;

/** A change of a head: fields set to `undefined` are removed. */
export type HeadChange = { readonly [K in keyof ChatHead]?: ChatHead[K] | undefined };

/**
 * One append in the making: records, and the head that comes with them. Everything that changes a
 * chat is a function over a transaction, so that any number of changes is one atomic append.
 */
export class Transaction {
  readonly chatId: string;
  /** Milliseconds since 1970: one instant for the whole transaction. */
  readonly now: number;
  readonly at: string;
  readonly isNewChat: boolean;
  head: ChatHead;
  readonly records: LogRecord[] = [];
  /** Messages that are heard once this is stored, and the program that appended them. */
  readonly heard: { readonly message: StoredMessage; readonly client: string | undefined }[] = [];
  /** No record was given its id by the caller. */
  hasNewIds = true;
  readonly #seq: number;
  readonly #newId: NewId;

  constructor(
    chatId: string,
    state: ChatState,
    ports: { readonly now: number; readonly newId: NewId },
  ) {
    this.chatId = chatId;
    this.now = ports.now;
    this.at = isoTime(ports.now);
    this.isNewChat = state.head === undefined;
    this.head = state.head ?? newHead(this.at);
    this.#seq = state.seq;
    this.#newId = ports.newId;
  }

  /** The number of the last record, with those of this transaction. */
  get seq(): number {
    return this.#seq + this.records.length;
  }

  set(change: HeadChange): void {
    const head: Record<string, unknown> = { ...this.head, ...change };
    for (const name in change) if (head[name] === undefined) delete head[name];
    this.head = head as unknown as ChatHead;
  }

  /** Adds a record that is no message. @returns its number. */
  control(kind: ControlKind, fields: JsonObject, givenId?: string): number {
    if (givenId !== undefined) this.hasNewIds = false;
    const id = givenId ?? this.#newId();
    this.records.push({ id, _type: "metadata", kind, timestamp: this.at, ...fields });
    return this.seq;
  }

  /** Adds a part of what a later message says of itself: the same bytes each time it is stored. */
  part(record: LogRecord): void {
    this.hasNewIds = false;
    this.records.push(record);
  }

  /**
   * Adds a message; the head counts it and takes its title from the first thing a person said.
   *
   * @throws ThroughlineError `THROUGHLINE_INVALID`.
   */
  message(input: { readonly [field: string]: Json | undefined }): MessageRecord & { seq: number } {
    const record = messageRecord(input, this.#newId, this.at);
    if (input["id"] !== undefined) this.hasNewIds = false;
    this.records.push(record);
    const { head } = this;
    const isSaid = record["hidden"] !== true && record["synthetic"] === undefined;
    const isTitle = head.title === "" && record.role === "user" && isSaid;
    const title = isTitle ? titleOf(record) : "";
    this.set({ message_count: head.message_count + 1 });
    if (title !== "") this.set({ title, title_of: record.id });
    return { ...record, seq: this.seq };
  }

  /** Lets a message of this transaction be heard once it is stored, if it is shown and said now. */
  hear(message: StoredMessage | MessageRecord, client?: string): void {
    const isNow = Math.abs(Date.parse(message.timestamp) - this.now) <= nowMs;
    if (!isNow || message["hidden"] === true) return;
    this.heard.push({ message: message as StoredMessage, client });
  }

  newId(): string {
    return this.#newId();
  }
}
