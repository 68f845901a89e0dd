import type { Attachment } from "../../core/chat/message.ts";
import { checkPersonName } from "../../core/chat/person-name.ts";
import { invalid } from "../../core/errors.ts";
import { checkJson, type Json } from "../../core/json.ts";
import type { MessageRole, PackageMessage } from "../package/record.ts";
import type { Received } from "./capture-clock.ts";
import { limits } from "./limits.ts";
import { Ring } from "./ring.ts";

/** A message as it is fed. */
export interface NewMessage {
  /** In either case; `USER` and `user` are the same. */
  readonly role: MessageRole | Lowercase<MessageRole>;
  readonly text: string;
  /** Of a user message: who of a group said it. */
  readonly name?: string | undefined;
  /** Of a user message: its files, which lie with its chat. */
  readonly attachments?: readonly Attachment[] | undefined;
  /** The same id again replaces what was said: an answer grows while it comes out. */
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
  /** When it was first heard of, on the monotonic clock. */
  readonly timeMs: number;
  /** When that was, on the clock of ages, and when it was last heard of. */
  readonly ageMs: number;
  readonly endedAgeMs: number;
  readonly bytes: number;
}

const roles: readonly unknown[] = ["USER", "ASSISTANT", "SYSTEM", "TOOL"];
const maxToolCallBytes = 65_536;
/** Of an id, of a chat's too: no chat has a longer one. */
export const maxNameLength = 1_024;
/** What a message takes beside its texts, roughly. */
const overheadBytes = 200;

/** The last messages of all chats. */
export class MessageBuffer extends Ring<BufferedMessage> {
  readonly #sessionId: string;
  #seq = 0;

  /** @param sessionId of the run: a message without an id gets one of it and its number. */
  constructor(sessionId: string) {
    super({ count: limits.messages, bytes: limits.messageBytes });
    this.#sessionId = sessionId;
  }

  /**
   * Keeps a message, or puts it in the place of the one with its id.
   *
   * @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_TOO_LARGE`: a field is wrong.
   */
  push(message: NewMessage, received: Received): BufferedMessage {
    const { id, agoMs = 0 } = message;
    if (!Number.isFinite(agoMs) || agoMs < 0) {
      throw invalid("agoMs must be a number of milliseconds from 0");
    }
    const ageMs = received.ageMs - agoMs;
    const known = id === undefined ? undefined : this.snapshot().find((kept) => kept.id === id);
    const seq = known?.seq ?? this.#seq + 1;
    const made = bufferedMessage(message, {
      id: id ?? `${this.#sessionId}:${seq}`,
      seq,
      timeMs: known?.timeMs ?? received.monoMs - agoMs,
      ageMs: known?.ageMs ?? ageMs,
      endedAgeMs: ageMs,
    });
    if (known !== undefined) this.replace(known, made);
    else this.add(made);
    this.#seq = Math.max(this.#seq, seq);
    return made;
  }
}

type Place = Pick<BufferedMessage, "id" | "seq" | "timeMs" | "ageMs" | "endedAgeMs">;

/** @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_TOO_LARGE` */
export function bufferedMessage(message: NewMessage, place: Place): BufferedMessage {
  const { text, delivered, toolCalls = null, live = false, interrupted = false } = message;
  const role = typeof message.role === "string" ? message.role.toUpperCase() : "";
  if (!roles.includes(role)) throw invalid("role must be USER, ASSISTANT, SYSTEM or TOOL");
  if (typeof text !== "string") throw invalid("text must be a string");
  if (delivered !== undefined && typeof delivered !== "string") {
    throw invalid("delivered must be a string");
  }
  checkNames(message);
  checkJson(toolCalls, "toolCalls");
  const { messageCodePoints } = limits;
  const cut = cutText(text, messageCodePoints);
  const cutDelivered = delivered === undefined ? null : cutText(delivered, messageCodePoints);
  const calls = JSON.stringify(toolCalls);
  const areCallsKept = Buffer.byteLength(calls) <= maxToolCallBytes;
  const keptCalls = areCallsKept ? (JSON.parse(calls) as Json) : { omitted: "too_large" };
  return {
    ...place,
    role: role as MessageRole,
    text: cut,
    name: message.name,
    attachments: message.attachments,
    chatId: message.chatId ?? null,
    turn_id: message.turnId ?? null,
    synthetic: message.synthetic ?? null,
    live,
    interrupted,
    delivered: cutDelivered,
    truncated: cut !== text || cutDelivered !== (delivered ?? null) || !areCallsKept,
    tool_calls: keptCalls,
    tool_call_id: message.toolCallId ?? null,
    bytes:
      Buffer.byteLength(cut) +
      (cutDelivered === null ? 0 : Buffer.byteLength(cutDelivered)) +
      (areCallsKept ? Buffer.byteLength(calls) : 0) +
      Buffer.byteLength(JSON.stringify(message.attachments ?? "")) +
      overheadBytes,
  };
}

function checkNames(message: NewMessage): void {
  const { id, chatId, turnId, synthetic, toolCallId } = message;
  checkPersonName(message.name);
  for (const [name, value] of Object.entries({ id, chatId, turnId, synthetic, toolCallId })) {
    const isRight = typeof value === "string" && value.length >= 1 && value.length <= maxNameLength;
    if (value !== undefined && !isRight) throw invalid(`${name} must have 1 to 1,024 characters`);
  }
}

/** The first code points of a text; never half of one. */
export function cutText(text: string, maxCodePoints: number): string {
  if (text.length <= maxCodePoints) return text;
  let end = 0;
  for (let count = 0; count < maxCodePoints && end < text.length; count++) {
    end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1;
  }
  return text.slice(0, end);
}
