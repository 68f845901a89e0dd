import {
  type ChatHead,
  isExtraSize,
  isMetadataSize,
  readHead,
  titleFrom,
} from "../core/chat/chat-head.ts";
import { checkChatId } from "../core/chat/chat-log.ts";
import { type Period, periodShape } from "../core/chat/period.ts";
import { readStamp } from "../core/chat/stamp.ts";
import { isoTime } from "../core/clock.ts";
import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import {
  extensible,
  list,
  nullAsAbsent,
  nullable,
  object,
  optional,
  record,
  required,
  type Shape,
  text,
  whole,
} from "../core/shape.ts";
import { reservedHeadNames } from "../core/storage/log-store.ts";
import { type Notes, refusalOf } from "./import.ts";

export type Form = "seed" | "own";

/** The fields that the format gives a metadata line. */
const seedNames = ["key", "created_at", "updated_at", "metadata", "last_consolidated"];

/** What the lines say that the format has no place for. */
function extraIn(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !seedNames.includes(name)));
}

/** What is known of a chat once all of it was read. */
export interface Counted {
  /** But for those that were taken back. */
  readonly messages: number;
  /** Those of them that a clear hid. */
  readonly cleared: number;
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

  /** @returns false: what a chat would have no room for is left out. */
  add(line: JsonObject): boolean {
    const { _type, kind, ...given } = line;
    this.count++;
    const isOurs = kind !== undefined;
    const reserved: readonly string[] = reservedHeadNames;
    const entries = Object.entries(given).filter(([name, value]) => {
      if (seedNames.includes(name)) return value !== null || !Object.hasOwn(this.#fields, name);
      // In a foreign file a commit line of ours has no other fields than the format's.
      return this.#form === "seed" ? !isOurs : !reserved.includes(name);
    });
    const fields: JsonObject = { ...this.#fields, ...Object.fromEntries(entries) };
    const { metadata } = fields;
    const isFree = this.#form === "own";
    const isSmall = isFree || !isJsonObject(metadata) || isMetadataSize(metadata);
    const areFew = isFree || isExtraSize(extraIn(fields));
    const kept = entries.filter(([name]) => {
      return name === "metadata" ? isSmall : areFew || seedNames.includes(name);
    });
    this.#fields = { ...this.#fields, ...Object.fromEntries(kept) };
    return kept.length === entries.length;
  }

  /** The chat that the file names, if it does, and if that can be a chat. */
  key(notes: Notes): string | undefined {
    const { key } = this.#fields;
    if (key === undefined || key === null) return undefined;
    if (refusalOf(() => checkChatId(key)) === undefined) return String(key);
    notes.add("the chat id in the file cannot be used: taken from its name");
    return undefined;
  }

  get clearSeq(): number {
    return Number(this.#fields["clear_seq"] ?? 0);
  }

  updatedAt(): number | undefined {
    const stamp = readStamp(this.#fields["updated_at"], this.#zone);
    return typeof stamp === "object" ? stamp.at : undefined;
  }

  /** @throws ThroughlineError `THROUGHLINE_INVALID`: of a file of ours. */
  head(counted: Counted, notes: Notes): ChatHead {
    if (this.#form === "own") return ownHead(this.#fields, counted, notes);
    const { created_at, updated_at, metadata, last_consolidated } = this.#fields;
    if (metadata !== undefined && metadata !== null && !isJsonObject(metadata)) {
      notes.add("metadata is not an object: left empty");
    }
    const extra = extraIn(this.#fields);
    const foreign = Object.keys(extra).length > 0 ? { extra } : {};
    return {
      session: null,
      ...foreign,
      created_at: this.#stamp("created_at", created_at, notes),
      updated_at: this.#stamp("updated_at", updated_at, notes) || counted.lastAt,
      metadata: isJsonObject(metadata) ? metadata : {},
      last_consolidated: consolidated(last_consolidated, counted.messages, notes),
      message_count: counted.messages,
      ...titled(metadata, counted),
    };
  }

  #stamp(name: string, value: Json | undefined, notes: Notes): string {
    const stamp = readStamp(value, this.#zone);
    if (stamp === "unreadable") notes.add(`${name} is no date: left empty`);
    if (typeof stamp === "string") return "";
    if (stamp.isZoneAssumed) notes.add(`${name} has no zone: read in ${this.#zone}`);
    return isoTime(stamp.at);
  }
}

/**
 * A head as an export of ours has it.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`: a field is not as it should be.
 */
function ownHead(fields: JsonObject, counted: Counted, notes: Notes): ChatHead {
  const { key: _, unfinished: __, ...given } = fields;
  const { lastSeq, messages } = counted;
  const count = (otherwise: number) => whole(0, Number.MAX_SAFE_INTEGER, otherwise);
  // A file whose end is missing begins with the numbers of its end.
  const seq: Shape<number> = {
    ...count(0),
    read: (value, at) => Math.min(count(0).read(value, at), lastSeq),
  };
  const stamp = nullAsAbsent(text(undefined, ""));
  const shape = extensible({
    created_at: stamp,
    updated_at: stamp,
    message_count: count(messages),
    last_consolidated: count(0),
    title: text(undefined, ""),
    title_of: optional(text()),
    clear_seq: optional(seq),
    cleared_count: optional(count(0)),
    // What it says to the person and to the model is not taken from a file.
    open_turn: optional(object({ id: text(), seq, attempts: count(0) }, "left out")),
    pending: optional(list(text())),
    view_from: optional(record(seq)),
    provider_start: optional(record(seq)),
    session: optional(nullable(periodShape)),
  });
  const head = readHead(required(shape, given, "its last line") as JsonObject);
  const { session } = head;
  // Not what was read of it, which has another order.
  const was = given["session"] as JsonObject;
  const provider_sessions = was?.["provider_sessions"] ?? {};
  const start_seq = Math.min(session?.start_seq ?? 0, lastSeq);
  const complete: ChatHead = {
    ...head,
    ...fittingCounts(given, head, counted, notes),
    session: session && ({ ...was, provider_sessions, start_seq } as Period),
  };
  // Every field keeps its place, so that what is written out again is the same.
  return {
    ...Object.fromEntries(Object.keys(given).map((name) => [name, complete[name]])),
    ...complete,
  };
}

/** Counts of a file that has lost records: they would hide messages, or stand in the way of new ones. */
function fittingCounts(
  { last_consolidated }: JsonObject,
  { message_count, cleared_count }: ChatHead,
  { messages, cleared }: Counted,
  notes: Notes,
): Partial<ChatHead> {
  const fits = message_count === messages && (cleared_count ?? cleared) === cleared;
  if (!fits) notes.add("its last line counts other messages than the file has: corrected");
  // Which messages it meant is not known where some are missing.
  const most = fits ? messages : 0;
  return {
    message_count: messages,
    last_consolidated: consolidated(last_consolidated, most, notes),
    ...(cleared_count !== undefined && { cleared_count: cleared }),
  };
}

function titled(
  metadata: Json | undefined,
  { title, titleOf }: Counted,
): Pick<ChatHead, "title" | "title_of"> {
  const given = isJsonObject(metadata) ? metadata["title"] : undefined;
  const chosen = typeof given === "string" ? titleFrom(given) : "";
  if (chosen !== "") return { title: chosen };
  return titleOf ? { title, title_of: titleOf } : { title };
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
