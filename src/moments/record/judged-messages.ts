import { invalid } from "../../core/errors.ts";
import type { PackageMessage } from "../package/record.ts";
import { seconds } from "./capture-clock.ts";
import { draftMessage, type Zero } from "./draft.ts";
import type { Label, MomentInput, TranscriptMessage } from "./label.ts";
import { limits } from "./limits.ts";
import { type BufferedMessage, bufferedMessage } from "./message-buffer.ts";
import { isOfChat, type TargetTurn, targetTurn } from "./target-turn.ts";

/** The words of a moment, and which of them it is about. */
export interface JudgedMessages {
  readonly chatId: string | null;
  readonly messages: () => readonly PackageMessage[];
  readonly target: TargetTurn;
  readonly lastSeq: number;
  readonly from: "ring" | "transcript";
  readonly reduced: "old_target" | null;
}

/**
 * The messages of the reaction's chat and the turn that it is about: of the buffer, or of the
 * transcript that came with it when the buffer no longer has the named message.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`: neither has it.
 */
export function judgedMessages(
  seen: readonly BufferedMessage[],
  input: MomentInput,
  label: Label,
  now: Zero & { readonly ageMs: number },
): JudgedMessages {
  const chatId = input.chatId ?? chatOf(seen, input);
  const { channel, source } = label;
  const { turnId, messageId, targetMessageId } = input;
  const reaction = {
    channel,
    source,
    ageMs: now.ageMs,
    chatId,
    turnId,
    messageId,
    targetMessageId,
  };
  const lastSeq = seen.at(-1)?.seq ?? 0;
  const ours = seen.filter((message) => isOfChat(message, chatId));
  const target = targetTurn(ours, reaction);
  const isNamed = targetMessageId !== undefined;
  // An answer whose question has left the buffer is of no use for training.
  const isWhole = target !== undefined && (!isNamed || hasQuestion(ours, target));
  const transcript = isWhole ? [] : (input.transcript ?? []).slice(-limits.messages);
  const old = transcript.map((message, index) => oldMessage(message, index + 1, now.ageMs));
  const oldTarget = old.length === 0 ? undefined : targetTurn(old, { ...reaction, chatId: null });
  if (target !== undefined && oldTarget === undefined) {
    const messages = () => ours.map((message) => draftMessage(message, now));
    return { chatId, messages, target, lastSeq, from: "ring", reduced: null };
  }
  if (oldTarget === undefined) throw invalid("targetMessageId names no answer that is known");
  const messages = () => {
    return old.map((message, index) => {
      const { atMs } = transcript[index] ?? {};
      const timestamp = atMs === undefined ? null : seconds(atMs);
      return { ...draftMessage(message, now), timestamp, t_ms: null };
    });
  };
  const from = "transcript";
  return { chatId, messages, target: oldTarget, lastSeq, from, reduced: "old_target" };
}

/** Whether a person's words stand before what was judged. */
function hasQuestion(messages: readonly BufferedMessage[], { judged }: TargetTurn): boolean {
  const first = messages.findIndex(({ id }) => judged?.message_ids.includes(id));
  const isSaid = ({ role, synthetic }: BufferedMessage) => role === "USER" && synthetic === null;
  return messages.slice(0, Math.max(0, first)).some(isSaid);
}

/** Of the message or turn in which it was expressed or that it is about; else of the newest one. */
function chatOf(seen: readonly BufferedMessage[], input: MomentInput): string | null {
  const { turnId, messageId, targetMessageId } = input;
  const named = seen.findLast((message) => {
    const isNamed = message.id === messageId || message.id === targetMessageId;
    return isNamed || (turnId !== undefined && message.turn_id === turnId);
  });
  return (named ?? seen.findLast((message) => message.chatId !== null))?.chatId ?? null;
}

function oldMessage(message: TranscriptMessage, seq: number, ageMs: number): BufferedMessage {
  const place = { id: message.id, seq, timeMs: 0, ageMs, endedAgeMs: ageMs };
  return bufferedMessage({ ...message, live: false }, place);
}

/** Without consent to words nothing is judged, and no words come in by another way. */
export function withoutWords({
  transcript: _,
  targetMessageId: __,
  turnId: ___,
  messageId: ____,
  ...label
}: MomentInput): MomentInput {
  return label;
}
