import { invalid } from "../errors.ts";
import { checkJson, isJsonObject, type JsonObject, tooLarge } from "../json.ts";
import { sha256 } from "../sha256.ts";
import { own } from "../shape.ts";
import { isLongerThan } from "../storage/key.ts";
import {
  type LogHead,
  type LogProjection,
  projectionModule,
  type StoredRecord,
} from "../storage/log-store.ts";
import { attachmentsOf } from "./attachments.ts";
import { isMessage } from "./message.ts";
import type { Period } from "./period.ts";
import { hiddenBy } from "./record-ids.ts";
import { isKnownZone } from "./reset-day.ts";

/** A turn whose answer is not stored yet: under way, or cut off by a crash or a failing model. */
interface OpenTurn extends JsonObject {
  /** The id of the user message that opened it. */
  readonly id: string;
  readonly seq: number;
  /** How often a model was asked. */
  readonly attempts: number;
  /** What is told with the answer: how long the person had been away, and the session that ended. */
  readonly away_ms?: number | undefined;
  readonly notice?: string | undefined;
}

/** Tokens that a provider counted for its last prompt, and what they were estimated at. */
interface ReportedUse extends JsonObject {
  readonly model: string;
  readonly tokens: number;
  readonly estimated: number;
}

/** Where a fork comes from: the chat, and the last message that was copied, if any was. */
export interface ForkedFrom extends JsonObject {
  readonly chat_id: string;
  readonly message_id?: string | undefined;
  /** What that chat was a fork of, and so on: it may be forgotten one day. */
  readonly earlier?: readonly string[];
}

/**
 * What a chat's log says of the whole chat. It lies in every commit line, so it is true after every
 * crash, and a reader of the seed's format finds the seed's fields in the last line of the file.
 */
export interface ChatHead extends JsonObject {
  /** ISO 8601, UTC; empty when an import did not know. */
  readonly created_at: string;
  readonly updated_at: string;
  /** The user's own; replaced whole. */
  readonly metadata: JsonObject;
  /** How many messages of the file, from its start, were summarised elsewhere. */
  readonly last_consolidated: number;
  /** Message records in the file, but for those that were taken back. */
  readonly message_count: number;
  /** The first 120 code points of the first thing that a person said. */
  readonly title: string;
  /** The id of the message that the title is from. */
  readonly title_of?: string;
  /** The number of the newest clear record, and how many messages it hid. */
  readonly clear_seq?: number;
  readonly cleared_count?: number;
  readonly session: Period | null;
  readonly open_turn?: OpenTurn;
  /** Ids of messages that were accepted and wait for their turn, oldest first. */
  readonly pending?: readonly string[];
  /** Per provider, where its history view starts, so that its prompt prefix stays the same. */
  readonly view_from?: Readonly<Record<string, number>>;
  /** Per provider, the seq at which its bucket was last reset: its history starts after it. */
  readonly provider_start?: Readonly<Record<string, number>>;
  /** Per provider, what it counted for the prompt of its last turn: it corrects our estimates. */
  readonly reported?: Readonly<Record<string, ReportedUse>>;
  /**
   * The summary that models get in place of the messages up to `up_to_seq`: the record with this `id`, which tells of
   * nothing up to `after_seq`. Absent once one of those messages is hidden or erased.
   */
  readonly summary?: JsonObject & {
    readonly id: string;
    readonly up_to_seq: number;
    readonly after_seq: number;
  };
  /** The newest run of the companion that this chat acknowledged. */
  readonly told_session?: number;
  readonly forked_from?: ForkedFrom;
  /** A fork or import that is not complete: removed at the next start. */
  readonly unfinished?: true;
}

/** Finds the record after which a provider gets what was said: a clear, a reset, or the start of the period. */
export function startFor(head: Partial<ChatHead> | undefined, provider: string): number {
  const { clear_seq: cleared = 0, session, provider_start: starts = {} } = head ?? {};
  return Math.max(cleared, session?.start_seq ?? 0, own(starts, provider) ?? 0);
}

const titleLength = 120;

export function newHead(at: string): ChatHead {
  return {
    created_at: at,
    updated_at: at,
    metadata: {},
    last_consolidated: 0,
    message_count: 0,
    title: "",
    session: null,
  };
}

/** Reads a head as it was stored; what is missing is as in a new chat. */
export function readHead(stored: LogHead): ChatHead {
  const { metadata } = stored;
  // The file of an import may have had anything there.
  return { ...newHead(""), ...stored, metadata: isJsonObject(metadata) ? metadata : {} };
}

/** So much of a text that its title is in it, however much space is between the words. */
const titleIn = new RegExp(`^\\s*(?:\\S\\s*){0,${titleLength}}`, "u");

/** The start of a person's message, for lists. */
export function titleFrom(content: string): string {
  const [start = ""] = titleIn.exec(content) ?? [];
  const text = start.replace(/\s+/gu, " ").trim();
  return [...text].slice(0, titleLength).join("");
}

/** The title that a message of a person gives: the start of its text, or else the name of its first file. */
export function titleOf(message: { readonly content: string; readonly [field: string]: unknown }) {
  return titleFrom(message.content) || titleFrom(attachmentsOf(message)[0]?.name ?? "");
}

/** Lists the chats that a chat was made from, the nearest first. */
export function forkOrigins({ forked_from: from }: Partial<ChatHead>): readonly string[] {
  if (!isJsonObject(from)) return [];
  const { chat_id, earlier } = from;
  const all: readonly unknown[] = [chat_id, ...(Array.isArray(earlier) ? earlier : [])];
  return all.filter((each) => typeof each === "string");
}

/** Label of the forks of a chat. A hash: an id may be longer than an index takes. */
export const forkLabel = (chatId: string) => `fork:${sha256(chatId).toString("hex")}`;

/** How the chats' logs are listed and searched, whatever the driver. */
export const chatProjection: LogProjection = {
  module: projectionModule("chatProjection"),
  sortedAt(head) {
    const { session, updated_at } = readHead(head);
    // Empty where an import could not read it: such a chat comes last.
    return String(session?.human_at ?? updated_at);
  },
  labels(head) {
    const labels: string[] = [];
    if (head["open_turn"] !== undefined || head["pending"] !== undefined) labels.push("unanswered");
    if (head["unfinished"] === true) labels.push("unfinished");
    return [...labels, ...forkOrigins(head).map(forkLabel)];
  },
  text(record: StoredRecord) {
    if (!isMessage(record) || record.hidden || record.role === "tool") return undefined;
    const names = attachmentsOf(record).map(({ name }) => name);
    return names.length === 0 ? record.content : [record.content, ...names].join("\n");
  },
  hides: hiddenBy,
};

/** One chat in a list: never read from its transcript. */
export interface ChatRow {
  readonly chat_id: string;
  readonly provider: string;
  readonly model: string;
  readonly created_at: string;
  /** When a person last acted. Where no person did: the last write other than a title or a setting. */
  readonly last_active: string;
  readonly message_count: number;
  readonly generation: number;
  readonly title: string;
  /** A message waits for its answer. */
  readonly unanswered: boolean;
  /** Stored bytes of this chat were found damaged. */
  readonly damaged: boolean;
}

export function chatRow(chatId: string, head: ChatHead, damaged: boolean): ChatRow {
  const { session: period } = head;
  return {
    chat_id: chatId,
    provider: period?.provider ?? "",
    model: period?.model ?? "",
    created_at: head.created_at,
    last_active: period?.human_at ?? head.updated_at,
    message_count: head.message_count - (head.cleared_count ?? 0),
    generation: period?.generation ?? 0,
    title: head.title,
    unanswered: head.open_turn !== undefined || head.pending !== undefined,
    damaged,
  };
}

/** Of the keys of a chat's metadata, which are the user's, the one that we read: an IANA zone. */
const zoneKey = "user_timezone";

/**
 * The most that a chat's metadata may be, in bytes of JSON: half of its head. The rest is for what the
 * chat itself says there. A head without room for that could never be written again.
 */
const maxMetadataBytes = 32 * 1024;
/** The same for what an import may leave in a head of fields that ours has no place for. */
const maxExtraBytes = 8 * 1024;

/**
 * @throws ThroughlineError `THROUGHLINE_INVALID`: no object, or `user_timezone` is no known zone.
 * @throws ThroughlineError `THROUGHLINE_TOO_LARGE`: more than 32 KiB, or too deep.
 */
export function checkMetadata(metadata: unknown): void {
  if (!isJsonObject(metadata)) throw invalid("metadata must be an object");
  checkJson(metadata, "metadata");
  if (!isMetadataSize(metadata)) {
    throw tooLarge(`metadata is longer than ${maxMetadataBytes} bytes`);
  }
  if (Object.hasOwn(metadata, zoneKey) && chatZone({ metadata }) === undefined) {
    throw invalid(`${zoneKey} must be a known IANA time zone`);
  }
}

/** Whether a head has room for this metadata, and for what it has to say beside. */
export function isMetadataSize(metadata: JsonObject): boolean {
  return !isLongerThan(JSON.stringify(metadata), maxMetadataBytes);
}

/** Whether it has for these fields of an import. */
export function isExtraSize(extra: JsonObject): boolean {
  return !isLongerThan(JSON.stringify(extra), maxExtraBytes);
}

/**
 * The zone of the person in this chat, where its metadata tells it: it counts before the configured one.
 * What an import left under that name may be no zone: then there is none.
 */
export function chatZone({ metadata }: Pick<ChatHead, "metadata">): string | undefined {
  const zone = metadata[zoneKey];
  return isKnownZone(zone) ? zone : undefined;
}
