import { type ChatHead, titleFrom } from "../core/chat/chat-head.ts";
import { checkChatId } from "../core/chat/chat-log.ts";
import { isExtraSize, isMetadataSize } from "../core/chat/chat-metadata.ts";
import { isControlId } from "../core/chat/control-ids.ts";
import type { Period } from "../core/chat/period.ts";
import { readStamp } from "../core/chat/stamp.ts";
import { readPeriod } from "../core/chat/stored-period.ts";
import { isoTime } from "../core/clock.ts";
import { isThroughlineError } from "../core/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import { is, list, object, record, text, whole } from "../core/shape.ts";
import { prepareHead } from "../core/storage/batch.ts";
import { reservedHeadNames } from "../core/storage/log-store.ts";
import type { Notes } from "./import.ts";

export type Form = "seed" | "own";

/** The fields that the format gives a metadata line. */
const seedNames = ["key", "created_at", "updated_at", "metadata", "last_consolidated"];

/** What is known of a chat once all of it was read. */
export interface Counted {
  readonly messages: number;
  /** Records that an erased one stands for. */
  readonly erased: number;
  readonly lastSeq: number;
  readonly title: string;
  readonly titleOf: string | undefined;
  /** The last stamp of a message; "" when there is none. */
  readonly lastAt: string;
}

/** The metadata lines of a file, the last of which wins, field by field. */
export class HeadLines {
  readonly #form: Form;
  readonly #zone: string;
  #fields: JsonObject = {};
  count = 0;

  constructor(form: Form, zone: string) {
    this.#form = form;
    this.#zone = zone;
  }

  add(line: JsonObject): void {
    const { _type, kind, ...fields } = line;
    this.count++;
    const isOurs = kind !== undefined;
    const reserved: readonly string[] = reservedHeadNames;
    const entries = Object.entries(fields).filter(([name, value]) => {
      if (seedNames.includes(name)) return value !== null || !Object.hasOwn(this.#fields, name);
      // In a foreign file a commit line of ours has no other fields than the format's.
      return this.#form === "seed" ? !isOurs : !reserved.includes(name);
    });
    const last: JsonObject = Object.fromEntries(entries);
    this.#fields = { ...this.#fields, ...last };
  }

  /** The chat that the file names, if it does, and if that can be a chat. */
  key(notes: Notes): string | undefined {
    const { key } = this.#fields;
    if (key === undefined || key === null) return undefined;
    try {
      checkChatId(key);
      return key;
    } catch (error) {
      if (!isThroughlineError(error)) throw error;
      notes.add("the chat id in the file cannot be used: taken from its name");
      return undefined;
    }
  }

  updatedAt(): number | undefined {
    const stamp = readStamp(this.#fields["updated_at"], this.#zone);
    return typeof stamp === "object" ? stamp.at : undefined;
  }

  /** The head of the chat, and what of the lines has no place in it. */
  head(counted: Counted, notes: Notes): { readonly head: ChatHead; readonly left: JsonObject } {
    const { key: _, created_at, updated_at, metadata, last_consolidated, ...rest } = this.#fields;
    if (metadata !== undefined && metadata !== null && !isJsonObject(metadata)) {
      notes.add("metadata is not an object: left empty");
    }
    const messages = this.#messageCount(rest["message_count"], counted);
    // In a file of ours the stamp is unknown because it was; in others it was never written.
    const lastAt = this.#form === "own" ? "" : counted.lastAt;
    const foreign =
      Object.keys(rest).length > 0 ? { session: null, extra: rest } : { session: null };
    const head: ChatHead = {
      ...(this.#form === "own" ? this.#own(rest, counted, notes) : foreign),
      created_at: this.#stamp("created_at", created_at, notes),
      updated_at: this.#stamp("updated_at", updated_at, notes) || lastAt,
      metadata: isJsonObject(metadata) ? metadata : {},
      last_consolidated: consolidated(last_consolidated, messages, notes),
      message_count: messages,
      ...this.#title(counted),
    };
    if (fits(head)) return { head, left: {} };
    notes.add("metadata is too large for a chat: kept as a foreign record");
    const { extra, metadata: large, ...small } = head;
    const left = extra === undefined ? { metadata: large } : { metadata: large, extra };
    return { head: { ...small, metadata: {} } as ChatHead, left };
  }

  #title(counted: Counted): Pick<ChatHead, "title" | "title_of"> {
    const { title, title_of: titleOf, metadata } = this.#fields;
    // A message that has such an id is not imported: its title would stay when it is removed.
    const isNamed = typeof titleOf !== "string" || !isControlId(titleOf);
    if (this.#form === "own" && typeof title === "string" && isNamed) return { title };
    const given = isJsonObject(metadata) ? metadata["title"] : undefined;
    const chosen = typeof given === "string" ? titleFrom(given) : "";
    if (this.#form === "seed" && chosen !== "") return { title: chosen };
    return titled(counted.title, counted.titleOf);
  }

  /** Erased messages still count; whether an erased record was one, only the file knows. */
  #messageCount(value: Json | undefined, { messages, erased }: Counted): number {
    if (this.#form === "seed") return messages;
    const isPossible = isCount(value) && value >= messages && value <= messages + erased;
    return isPossible ? value : messages + erased;
  }

  #stamp(name: string, value: Json | undefined, notes: Notes): string {
    const stamp = readStamp(value, this.#zone);
    if (stamp === "unreadable") notes.add(`${name} is no date: left empty`);
    if (typeof stamp === "string") return "";
    if (stamp.isZoneAssumed) notes.add(`${name} has no zone: read in ${this.#zone}`);
    return isoTime(stamp.at);
  }

  /** What only ours have. What is not as we write it is left out. */
  #own(rest: JsonObject, counted: Counted, notes: Notes): JsonObject & Pick<ChatHead, "session"> {
    const { unfinished: _, ...fields } = rest;
    const all = counted.messages + counted.erased;
    // A file whose end is missing begins with the numbers of its end.
    const within = (seq: unknown) => (isCount(seq) ? Math.min(seq, counted.lastSeq) : undefined);
    const known: Readonly<Record<string, (value: Json | undefined) => Json | undefined>> = {
      clear_seq: within,
      cleared_count: (count) => (isCount(count) && count <= all ? count : undefined),
      open_turn: (turn) => (is(openTurn, turn) ? { ...turn, seq: within(turn.seq) } : undefined),
      pending: (ids) => (is(list(text()), ids) ? ids : undefined),
      view_from: (seqs) => (is(numbers, seqs) ? mapped(seqs, within) : undefined),
      provider_start: (seqs) => (is(numbers, seqs) ? mapped(seqs, within) : undefined),
      title_of: (id) => (typeof id === "string" ? id : undefined),
    };
    // Every field keeps its place, so that what is written out again is the same.
    const entries = Object.entries(fields).flatMap(([name, given]) => {
      const value = Object.hasOwn(known, name) ? known[name]?.(given) : given;
      if (value === undefined) notes.add(`${name} is not as it should be: left out`);
      return value === undefined ? [] : [[name, value] as const];
    });
    const session = this.#session(fields["session"], counted, notes);
    return { ...Object.fromEntries(entries), session };
  }

  #session(value: Json | undefined, { lastSeq }: Counted, notes: Notes) {
    if (!isJsonObject(value)) return null;
    const read = readPeriod(value, lastSeq, { provider: "unknown", model: "" });
    if (read === undefined) return null;
    notes.add(...read.notes);
    return read.notes.length === 0 ? (value as Period) : read.period;
  }
}

const seq = whole(0, Number.MAX_SAFE_INTEGER);
const numbers = record(seq);
const openTurn = object({ id: text(), seq, attempts: seq }, "left out");

function mapped(
  seqs: Readonly<Record<string, number>>,
  within: (seq: number) => number | undefined,
): JsonObject {
  return Object.fromEntries(Object.entries(seqs).map(([name, each]) => [name, within(each)]));
}

function titled(title: string, titleOf: string | undefined): Pick<ChatHead, "title" | "title_of"> {
  return titleOf === undefined || titleOf === "" ? { title } : { title, title_of: titleOf };
}

function consolidated(value: Json | undefined, messages: number, notes: Notes): number {
  if (isCount(value) && value <= messages) return value;
  if (value !== undefined && value !== null) {
    notes.add("last_consolidated is not a number of messages of the file: set to 0");
  }
  return 0;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0 && !Object.is(value, -0);
}

/** What is left of a head must have room for the chat to go on. */
function fits(head: ChatHead): boolean {
  const { metadata, extra } = head;
  if (!isMetadataSize(metadata)) return false;
  if (isJsonObject(extra) && !isExtraSize(extra)) return false;
  try {
    prepareHead(head);
    return true;
  } catch (error) {
    if (!isThroughlineError(error)) throw error;
    return false;
  }
}
