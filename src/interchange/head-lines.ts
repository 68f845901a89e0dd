import { type ChatHead, titleFrom } from "../core/chat/chat-head.ts";
import { checkChatId } from "../core/chat/chat-log.ts";
import { isExtraSize, isMetadataSize } from "../core/chat/chat-metadata.ts";
import { isControlId } from "../core/chat/control-ids.ts";
import { isPeriod, type Period } from "../core/chat/period.ts";
import { readStamp } from "../core/chat/stamp.ts";
import { isoTime } from "../core/clock.ts";
import { isThroughlineError } from "../core/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import { prepareHead } from "../core/storage/batch.ts";
import { reservedHeadNames } from "../core/storage/log-store.ts";
import type { Notes } from "./import.ts";
import { numbersOf } from "./own-record.ts";

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
  /** The number that the record with an old number has now. */
  readonly seqOf: (old: number) => number;
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
    // A title of a message that got another id would outlive the removal of that message.
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

  /** What only ours have. What is not as we write it is left out; numbers follow their records. */
  #own(rest: JsonObject, counted: Counted, notes: Notes): JsonObject & Pick<ChatHead, "session"> {
    const { unfinished: _, ...fields } = rest;
    const { seqOf } = counted;
    const change: Record<string, Json | undefined> = {};
    const put = (name: string, value: Json | undefined) => {
      if (!Object.hasOwn(fields, name)) return;
      change[name] = value;
      if (value === undefined) notes.add(`${name} is not as it should be: left out`);
    };
    const { clear_seq, cleared_count, open_turn, pending } = fields;
    put("clear_seq", isCount(clear_seq) ? seqOf(clear_seq) : undefined);
    const cleared = isCount(cleared_count) && cleared_count <= counted.messages + counted.erased;
    put("cleared_count", cleared ? cleared_count : undefined);
    put("open_turn", openTurn(open_turn, seqOf));
    const isPending = Array.isArray(pending) && pending.every((id) => typeof id === "string");
    put("pending", isPending ? pending : undefined);
    for (const name of ["view_from", "provider_start"]) {
      const numbers = numbersOf(fields[name]);
      const moved = Object.entries(numbers ?? {}).map(([key, seq]) => [key, seqOf(seq)] as const);
      put(name, numbers && Object.fromEntries(moved));
    }
    put("title_of", typeof fields["title_of"] === "string" ? fields["title_of"] : undefined);
    const session = this.#session(fields["session"], counted, notes);
    const entries = Object.entries({ ...fields, ...change, session });
    // Every field keeps its place, so that what is written out again is the same.
    return { ...Object.fromEntries(entries.filter(([, value]) => value !== undefined)), session };
  }

  /** The session, unless it begins after the last record: then it would hide all of them. */
  #session(value: Json | undefined, { lastSeq, seqOf }: Counted, notes: Notes): Period | null {
    const start_seq = isPeriod(value) ? seqOf(value.start_seq) : lastSeq + 1;
    if (isPeriod(value) && start_seq <= lastSeq) return { ...value, start_seq };
    if (isJsonObject(value)) notes.add("session is not as it should be: left out");
    return null;
  }
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

function openTurn(value: unknown, seqOf: (old: number) => number): JsonObject | undefined {
  if (!isJsonObject(value)) return undefined;
  const { id, seq, attempts } = value;
  if (typeof id !== "string" || !isCount(seq) || !isCount(attempts)) return undefined;
  return { ...value, seq: seqOf(seq) };
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
