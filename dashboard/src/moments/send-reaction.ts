// Reactions to replies: sent, and taken back.
import { detailOf, newKey, ProblemError, request } from "../api/client.ts";
import type { Message, Reaction, Receipt } from "../api/openapi-types.ts";
import { Store } from "../api/store.ts";
import { momentPath, refreshMoments } from "./use-moments.ts";

type Sentiment = Reaction["sentiment"];
/** What should have been said, or a note about it. */
export type Correction = NonNullable<Reaction["correction"]>;

/** A reply in its chat. */
export interface Reply {
  readonly chatId: string;
  readonly message: Message;
}

interface Reactions {
  /** The outcome of the last one, in words, and its chat. */
  readonly notice: { readonly chatId: string; readonly says: string } | undefined;
  /** The reply whose correction is being asked for. */
  readonly asked: Reply | undefined;
  readonly isSending: boolean;
  readonly error: unknown;
}

const maxWhat = 200;
const noticeMs = 8_000;
/** The keys of reactions without a response: one that is sent again is recorded once. */
const keys = new Map<string, string>();
let hiding: ReturnType<typeof setTimeout> | undefined;

export const reactions = new Store<Reactions>({
  notice: undefined,
  asked: undefined,
  isSending: false,
  error: null,
});

/** A message has its id in its chat: a copy of the chat has it too. */
export function replyKey({ chatId, message }: Reply): string {
  return JSON.stringify([chatId, message.id]);
}

/** Asks how a reply should have been; `undefined` closes the question. */
export function ask(asked: Reply | undefined): void {
  change({ asked, error: null });
}

/** Sends a reaction. @returns whether it was recorded. */
export async function react(
  reply: Reply,
  sentiment: Sentiment,
  correction?: Correction,
): Promise<boolean> {
  const { chatId } = reply;
  // A notice that stays the same would not be read out again.
  change({ notice: undefined, isSending: true, error: null });
  try {
    const receipt = await send(reply, sentiment, correction);
    const isRecorded = receipt.durable || receipt.duplicate_of !== undefined;
    notify(chatId, isRecorded ? recordedInWords(receipt) : `Not saved: ${reasonOf(receipt)}`);
    void refreshMoments();
    return isRecorded;
  } catch (error) {
    change({ error });
    notify(chatId, `Not saved: ${whyNot(error)}`);
    return false;
  } finally {
    change({ isSending: false });
  }
}

/** Takes a reaction back. @param name of its package. */
export async function takeBack({ chatId }: Reply, name: string): Promise<void> {
  try {
    await request(`${momentPath(name)}/retract`, { method: "POST", body: {} });
    notify(chatId, "Taken back");
  } catch (error) {
    notify(chatId, `Not taken back: ${detailOf(error)}`);
  }
  await refreshMoments();
}

/** Why a reaction was refused, in words for a person. */
export function whyNot(error: unknown): string {
  const isUnknown = error instanceof ProblemError && error.status === 400;
  return isUnknown ? "what led to this reply is no longer in memory." : detailOf(error);
}

async function send(
  { chatId, message }: Reply,
  sentiment: Sentiment,
  correction: Correction | undefined,
): Promise<Receipt> {
  const body: Reaction = {
    sentiment,
    what: beginningOf(message.content),
    channel: "button",
    chat_id: chatId,
    target_message_id: message.id,
    correction,
  };
  const said = JSON.stringify(body);
  const key = keys.get(said) ?? newKey();
  keys.set(said, key);
  try {
    const headers = { "Idempotency-Key": key };
    const receipt = await request<Receipt>("/api/feedback", { method: "POST", body, headers });
    keys.delete(said);
    return receipt;
  } catch (error) {
    if (error instanceof ProblemError && error.status !== 0) keys.delete(said);
    throw error;
  }
}

function change(more: Partial<Reactions>): void {
  reactions.set({ ...reactions.get(), ...more });
}

function notify(chatId: string, says: string): void {
  change({ notice: { chatId, says } });
  clearTimeout(hiding);
  hiding = setTimeout(() => change({ notice: undefined }), noticeMs);
}

/** What was left out of a moment, and why. */
const reductions: Readonly<Record<string, string>> = {
  old_target: "Saved with the text only: the reply is too old for pictures and sound",
  rate_cap: "Saved with the text only: there were many moments in the last hour",
  consent: "Saved without the text, as agreed",
  disk_full: "Saved with the text only: the disk is full",
};

function recordedInWords({ reduced = "" }: Receipt): string {
  return reductions[reduced] ?? "Saved";
}

function reasonOf({ reason }: Receipt): string {
  return reason ?? "it is still being written";
}

/** By code points: half a character is none. */
function beginningOf(content: string): string {
  return [...content.slice(0, 2 * maxWhat)].slice(0, maxWhat).join("");
}
