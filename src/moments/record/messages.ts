import type { Attachment } from "../../core/chat/message.ts";
import { checkPersonName } from "../../core/chat/person-name.ts";
import { checkJson, type Json } from "../../core/json.ts";
import { checked, flag, number, optional, required, text, word } from "../../core/shape.ts";
import { type MessageRole, members, type PackageMessage } from "../package/record.ts";
import { limits, millis, Ring, seconds, type Zero } from "./ring.ts";

/** A message as it is fed. */
export interface NewMessage {
  /** In either case; `USER` and `user` are the same. */
  readonly role: MessageRole | Lowercase<MessageRole>;
  readonly text: string;
  /** Of a user message: who of a group said it. */
  readonly name?: string | undefined;
  /** Of a user message: its files, which lie with its chat. */
  readonly attachments?: readonly Attachment[] | undefined;
  /** The same id again in a chat replaces what was said: an answer grows while it comes out. */
  readonly id?: string | undefined;
  readonly chatId?: string | undefined;
  readonly turnId?: string | undefined;
  /** The kind of text that we injected, such as `pat_hint`. Never judged. */
  readonly synthetic?: string | undefined;
  /** How long ago it was said, where it was said in an earlier run. @default 0 */
  readonly agoMs?: number | undefined;
  /** The answer is still coming out. @default false */
  readonly live?: boolean | undefined;
  readonly interrupted?: boolean | undefined;
  /** What was spoken or shown, where it is known to differ from the text. */
  readonly delivered?: string | undefined;
  readonly toolCalls?: Json | undefined;
  readonly toolCallId?: string | undefined;
}

/** A message as it is kept, which a package gives its times; never changed, only replaced. */
export interface BufferedMessage extends Omit<PackageMessage, "timestamp" | "t_ms"> {
  readonly chatId: string | null;
  readonly live: boolean;
  /** When it was first heard of, and when last. */
  readonly atMs: number;
  readonly endedMs: number;
  readonly bytes: number;
}

/** A text of so many characters. */
export const chars = (min: number, max: number) => {
  return checked(text(), (value, at) => {
    // Code points are counted only where they could be few enough.
    const count = value.length > max && value.length <= max * 2 ? [...value].length : value.length;
    if (count < min || count > max) at.says(`must have ${min} to ${max} characters`);
  });
};

/** An id, of a chat's too: no chat has a longer one. */
export const named = optional(chars(1, 1_024));
const roles = ["USER", "ASSISTANT", "SYSTEM", "TOOL"] as const;
const maxToolCallBytes = 65_536;
const messageShape = members({
  role: word([...roles, ...roles.map((role) => role.toLowerCase() as Lowercase<MessageRole>)]),
  text: text(),
  delivered: optional(text()),
  id: named,
  chatId: named,
  turnId: named,
  synthetic: named,
  toolCallId: optional(chars(1, maxToolCallBytes)), // some services put a signature into it
  agoMs: optional(number(0, Number.MAX_VALUE)),
  live: optional(flag()),
  interrupted: optional(flag()),
});

/** What a message takes beside its texts, roughly. */
const overheadBytes = 200;

/** The last messages of all chats. */
export class MessageBuffer extends Ring<BufferedMessage> {
  readonly #sessionId: string;
  /** Those in whose place others come, until these are stored. */
  #aside: readonly BufferedMessage[] = [];
  #seq = 0;

  /** @param sessionId of the run: a message without an id gets one of it and its number. */
  constructor(sessionId: string) {
    super({ count: limits.messages, bytes: limits.messageBytes });
    this.#sessionId = sessionId;
  }

  /**
   * Keeps a message, or puts it in the place of the one with its id in its chat.
   *
   * @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_TOO_LARGE`: a field is wrong.
   */
  push(message: NewMessage, nowMs: number): BufferedMessage {
    const { id, agoMs = 0 } = message;
    const endedMs = nowMs - agoMs;
    const ofChat = message.chatId ?? null;
    const isKnown = (kept: BufferedMessage) => kept.id === id && kept.chatId === ofChat;
    const known = id === undefined ? undefined : this.snapshot().find(isKnown);
    const seq = known?.seq ?? this.#seq + 1;
    const made = bufferedMessage(message, {
      id: id ?? `${this.#sessionId}:${seq}`,
      seq,
      atMs: known?.atMs ?? endedMs,
      endedMs,
    });
    this.add(made, known);
    this.#seq = Math.max(this.#seq, seq);
    return made;
  }

  override remove(holds: (message: BufferedMessage) => boolean): void {
    super.remove(holds);
    this.#aside = this.#aside.filter((message) => !holds(message));
  }

  /** Takes out what it holds for, until it is settled. */
  setAside(holds: (message: BufferedMessage) => boolean): void {
    this.#aside = [...this.#aside, ...this.snapshot().filter(holds)];
    super.remove(holds);
  }

  /** Drops what was set aside; or brings it back in the place of what came since. */
  settle(holds: (message: BufferedMessage) => boolean, isReplaced: boolean): void {
    const before = this.#aside.filter(holds);
    this.#aside = this.#aside.filter((message) => !holds(message));
    if (isReplaced) return;
    const others = this.snapshot().filter((message) => !holds(message));
    super.remove(() => true);
    for (const each of [...others, ...before].sort((a, b) => a.seq - b.seq)) this.add(each);
  }
}

type Place = Pick<BufferedMessage, "id" | "seq" | "atMs" | "endedMs">;

/** @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_TOO_LARGE` */
export function bufferedMessage(message: NewMessage, place: Place): BufferedMessage {
  const { delivered, attachments, toolCalls = null, toolCallId = null } = message;
  required(messageShape, message, "the message");
  checkPersonName(message.name);
  checkJson(toolCalls, "toolCalls");
  const text = cutText(message.text);
  const shown = delivered === undefined ? null : cutText(delivered);
  const calls = JSON.stringify(toolCalls);
  const areCallsKept = Buffer.byteLength(calls) <= maxToolCallBytes;
  const kept = areCallsKept ? calls : '{"omitted":"too_large"}';
  const isCut = text !== message.text || shown !== (delivered ?? null);
  return {
    ...place,
    role: message.role.toUpperCase() as MessageRole,
    text,
    name: message.name,
    attachments,
    chatId: message.chatId ?? null,
    turn_id: message.turnId ?? null,
    synthetic: message.synthetic ?? null,
    live: message.live ?? false,
    interrupted: message.interrupted ?? false,
    delivered: shown,
    truncated: isCut || !areCallsKept,
    tool_calls: JSON.parse(kept) as Json,
    tool_call_id: toolCallId,
    bytes:
      Buffer.byteLength(JSON.stringify([text, shown, attachments, toolCallId])) +
      kept.length +
      overheadBytes,
  };
}

/** What a package has of a message: these fields, and no others of the buffer's own. */
export function draftMessage(buffered: BufferedMessage, zero: Zero): PackageMessage {
  const { role, text, chatId: _, endedMs: __, bytes: ___, live, atMs, ...rest } = buffered;
  const t = atMs - zero.atMs;
  const times = { timestamp: seconds(zero.wallMs + t), t_ms: millis(t) };
  // Of an answer that was still coming out, this much was delivered.
  const delivered = rest.delivered ?? (live ? text : null);
  return { role, text, ...times, ...rest, delivered };
}

/** The first code points of a text; never half of one. */
export function cutText(text: string, max: number = limits.messageCodePoints): string {
  return text.length <= max ? text : [...text.slice(0, max * 2)].slice(0, max).join("");
}
