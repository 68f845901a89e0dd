import { isoTime } from "../clock.ts";
import type { NewId } from "../ids.ts";
import { checkJson, freezeDeep, type JsonObject } from "../json.ts";
import type { Runtime } from "../runtime.ts";
import { checkId } from "../storage/batch.ts";
import type { LogRecord, StoredRecord } from "../storage/log-store.ts";
import { type ChatHead, newHead, titleOf } from "./chat-head.ts";
import type { ControlKind, StoredMessage } from "./message.ts";
import { messageRecord } from "./message-input.ts";

/** A chat as it was read: where its log ends, and what the log says of the whole. */
export interface ChatState {
  /** 0: the chat does not exist. */
  readonly seq: number;
  readonly head: ChatHead | undefined;
  readonly damaged: boolean;
  /** Whether the log perhaps holds a record with this id, where that is known at once. */
  mayHold?(id: string): boolean;
}

/** How far from the clock the time of a message may be that is said now, in milliseconds. */
const nowMs = 60_000;

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
  /** Each with the number that it gets. */
  readonly records: StoredRecord[] = [];
  /** Messages that are heard once this is stored, and the program that appended them. */
  readonly heard: { readonly message: StoredMessage; readonly client: string | undefined }[] = [];
  /** The ids of records that were not made up here. */
  readonly givenIds: string[] = [];
  /** Ids that were looked for, and that the chat does not hold. */
  readonly newIds = new Set<string>();
  readonly #state: ChatState;
  readonly newId: NewId;

  constructor(chatId: string, state: ChatState, ports: Pick<Runtime, "clock" | "newId">) {
    this.chatId = chatId;
    this.now = ports.clock.now();
    this.at = isoTime(this.now);
    this.isNewChat = state.head === undefined;
    this.head = state.head ?? newHead(this.at);
    this.#state = state;
    this.newId = ports.newId;
  }

  /** The number of the last record, with those of this transaction. */
  get seq(): number {
    return this.#state.seq + this.records.length;
  }

  /** Changes the head: fields set to `undefined` are removed. */
  set(change: Partial<ChatHead>): void {
    let head: Record<string, unknown> = { ...this.head, ...change };
    // It may be the caller's own object.
    if (change.metadata !== undefined) head["metadata"] = frozenCopy(change.metadata);
    for (const name in change) {
      if (head[name] !== undefined) continue;
      const { [name]: _, ...others } = head; // `delete` makes an object that is slow to copy and to write
      head = others;
    }
    this.head = head as unknown as ChatHead;
  }

  /** Adds a record that is no message. @returns its number. */
  control(kind: ControlKind, fields: JsonObject, givenId?: string): number {
    if (givenId !== undefined) {
      checkId(givenId, "the id of a record");
      this.givenIds.push(givenId);
    }
    const { at: timestamp, seq } = this;
    const id = givenId ?? this.newId();
    const record = { id, seq: seq + 1, _type: "metadata", kind, timestamp, ...fields };
    checkJson(record, `a ${kind} record`);
    this.records.push(record);
    return record.seq;
  }

  /** Whether the chat holds neither this message nor a part of it. False also where a look-up has to tell. */
  isNew(message: { readonly id?: unknown; readonly exact?: unknown }): boolean {
    const { id, exact } = message ?? {};
    if (id === undefined) return true;
    return typeof id === "string" && exact === undefined && this.#state.mayHold?.(id) === false;
  }

  /** Adds a part of what a later message says of itself: the same bytes each time it is stored. */
  part(record: LogRecord): void {
    const { id, ...fields } = record;
    checkId(id, "the id of a record");
    this.givenIds.push(id);
    this.records.push({ id, seq: this.seq + 1, ...fields });
  }

  /**
   * Adds a message; the head counts it and takes its title from the first thing a person said.
   *
   * @throws ThroughlineError `THROUGHLINE_INVALID`.
   */
  message(input: JsonObject): StoredMessage {
    const record = messageRecord(input, this.newId, this.at, this.seq + 1);
    if (input["id"] !== undefined) this.givenIds.push(record.id);
    this.records.push(record);
    const { head } = this;
    const isSaid = record.role === "user" && !record.hidden && record.synthetic === undefined;
    const title = head.title === "" && isSaid ? titleOf(record) : "";
    const titled = title === "" ? {} : { title, title_of: record.id };
    this.set({ message_count: head.message_count + 1, ...titled });
    return record;
  }

  /** Lets a message of this transaction be heard once it is stored, if it is shown and said now. */
  hear(message: StoredMessage, client?: string): void {
    const isNow = Math.abs(Date.parse(message.timestamp) - this.now) <= nowMs;
    if (isNow && !message.hidden) this.heard.push({ message, client });
  }
}

function frozenCopy(value: JsonObject): JsonObject {
  return freezeDeep(JSON.parse(JSON.stringify(value)) as JsonObject);
}
