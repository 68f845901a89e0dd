import { isJsonObject, type JsonObject } from "../json.ts";
import type { StoredRecord } from "../storage/log-store.ts";

export const roles = ["user", "assistant", "tool", "system"] as const;
export type Role = (typeof roles)[number];

/** Why the text of a message is not whole. */
export const partialReasons = ["stopped", "error", "crash", "length", "content_filter"] as const;

export const outcomes = ["answered", "interrupted", "failed"] as const;
/** How a turn ended. `interrupted`: stopped or talked over, the response is what came before. */
export type Outcome = (typeof outcomes)[number];

/** A call that a model asked for, in the form that the seed's logs and most providers use. */
export interface ToolCall {
  readonly id: string;
  readonly type: "function";
  readonly function: {
    readonly name: string;
    /** JSON text, as the model wrote it. */
    readonly arguments: string;
  };
}

/** What an answer took. `null`: not known. */
export interface AnswerStats {
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
  readonly cached_input_tokens?: number | undefined;
  /** `null` also where the model has no price. */
  readonly cost_usd: number | null;
  /** From when the model was asked to the end of the answer, waits for the provider included. */
  readonly latency_ms: number;
  readonly first_word_ms: number | null;
}

/** What a message carries of a file: never its bytes, which lie beside the chat under their hash. */
export interface Attachment {
  readonly name: string;
  /** A media type. */
  readonly type: string;
  /** In bytes. */
  readonly size: number;
  /** Of its bytes: 64 lower-case hex digits. */
  readonly sha256: string;
}

/**
 * A message as it lies in the chat's log and goes out over HTTP: snake_case, never changed once it
 * is written. A caller's fields that are none of these are kept as they are; those named `_type`, `seq`,
 * `kind`, `redacted`, `replaced` or `variants` are kept inside `extra`.
 */
export interface StoredMessage extends StoredRecord {
  readonly role: Role;
  readonly content: string;
  /** ISO 8601, UTC. Empty when an imported message had none. */
  readonly timestamp: string;
  /** The turn that it belongs to: the id of the user message that opened it. */
  readonly turn?: string;
  /** Who wrote it, on assistant and tool messages. */
  readonly provider?: string;
  readonly model?: string;
  /** The text was cut short; `partial_reason` says by what. */
  readonly partial?: true;
  readonly partial_reason?: (typeof partialReasons)[number];
  /** Shown to people on request, never sent to a model: announcements, commands, markers. */
  readonly hidden?: true;
  /** On a user message that no person wrote: what the application told the model, such as `pat_hint`. */
  readonly synthetic?: string;
  /** As it is shown, never as it is stored: the message was erased, and this is the mark where it stood. */
  readonly redacted?: true;
  /** The same: another answer took its place. */
  readonly replaced?: true;
  /**
   * The same, on the newest answer once it was regenerated: the ids of all answers to its message that can be
   * chosen, oldest first, its own among them. See `Turns.choose`.
   */
  readonly variants?: readonly string[];
  readonly tool_calls?: readonly (ToolCall & JsonObject)[];
  /** On a tool message: which call this is the result of. */
  readonly tool_call_id?: string;
  /** On a user message: who of a group said it. On a tool message: the name of the tool. */
  readonly name?: string;
  readonly is_error?: true;
  /** What the model thought before it wrote this, as its provider sent it. Never sent to a model. */
  readonly reasoning_content?: string;
  /** Reasoning items, signatures, item ids: useful only to the `provider` and `model` named in it. */
  readonly provider_data?: JsonObject & { readonly provider?: string; readonly model?: string };
  /** On the answer of a turn: what it took. */
  readonly stats?: AnswerStats & JsonObject;
  /** The message as a framework gave it, or its parts: see `exactOf`. Sent to no model. */
  readonly exact?: JsonObject;
  readonly attachments?: readonly (Attachment & JsonObject)[];
  readonly extra?: JsonObject;
}

/**
 * What the chat's log holds beside messages. On disk each has `_type: "metadata"`, so that a reader
 * of the seed's format passes over it.
 */
export type ControlKind =
  | "session"
  | "usage"
  | "clear"
  | "metadata"
  | "erasure"
  | "replacement"
  | "removal"
  | "compaction"
  | "pending_input"
  | "turn"
  | "foreign"
  | "part"
  | "erased";

export interface ControlRecord extends StoredRecord {
  readonly _type: "metadata";
  readonly kind: ControlKind;
  readonly timestamp?: string;
}

/** Whether a record is a message: anything with a known role and text that is not a control record. */
export function isMessage(record: StoredRecord): record is StoredMessage {
  return (
    record["_type"] !== "metadata" &&
    typeof record["content"] === "string" &&
    (roles as readonly unknown[]).includes(record["role"])
  );
}

/** Whether its model ended an answer that is not whole: nothing broke off, and no person stopped it. */
export function isCutByModel({ partial_reason: reason }: StoredMessage): boolean {
  return reason === "length" || reason === "content_filter";
}

export function isControl(record: StoredRecord, kind?: ControlKind): record is ControlRecord {
  return record["_type"] === "metadata" && (kind === undefined || record["kind"] === kind);
}

/** A file of a user message as a model gets it. */
export interface ModelFile extends Attachment {
  /** Only in a request, and only if the model takes files of this type: see `Responder.takes`. */
  readonly bytes?: Uint8Array | undefined;
}

/** One message as a model gets it: no stamps, no ids of ours. */
export type ModelInput =
  | {
      readonly role: "user";
      /** Begins with `name` as a JSON string. In a request it also names each file, and holds the text of text files. */
      readonly content: string;
      /** The person who said it, where that is known, and one person said all of it. */
      readonly name?: string;
      readonly files?: readonly ModelFile[];
    }
  | {
      readonly role: "assistant";
      readonly content: string;
      readonly toolCalls?: readonly ToolCall[];
      /** Present only when the model that is asked is the one that made it. */
      readonly providerData?: JsonObject;
    }
  | {
      readonly role: "tool";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly content: string;
      readonly isError?: true;
    };

/**
 * The record for an object that is no message. It looks like a control record, so that no reader of
 * the format takes it for a message.
 */
export function foreignRecord(
  source: JsonObject,
  id: string,
): JsonObject & { readonly id: string } {
  return { id, _type: "metadata", kind: "foreign", extra: { record: source } };
}

/** The object as it came; `undefined` for every other record. */
export function foreignObject(record: StoredRecord): JsonObject | undefined {
  const extra = isControl(record, "foreign") ? record["extra"] : undefined;
  const source = isJsonObject(extra) ? extra["record"] : undefined;
  return isJsonObject(source) ? source : undefined;
}
