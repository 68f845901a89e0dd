import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { detailOf, ProblemError, request } from "../api/client.ts";
import type { Message, Reaction, Receipt } from "../api/openapi-types.ts";
import type { Feed } from "../chats/talk/feed.ts";
import { newKey } from "../chats/talk/message-key.ts";

export type Sentiment = Reaction["sentiment"];
/** What should have been said, or a word about it. */
export type Correction = NonNullable<Reaction["correction"]>;

const maxWhat = 200;
const noticeMs = 8_000;

export interface Judgement {
  readonly message: Message;
  readonly sentiment: Sentiment;
  readonly correction?: Correction | undefined;
}

/** Sends reactions to the replies of a chat, and holds what became of the last one, in words. */
export function useReactions(feed: Feed) {
  const client = useQueryClient();
  const [notice, setNotice] = useState("");
  const keys = useRef(new Map<string, string>());
  const sending = useMutation({
    mutationFn: (judgement: Judgement) => send(feed.chatId, judgement, keys.current),
    // A notice that stays the same would not be read out again.
    onMutate: () => setNotice(""),
    onSuccess: (receipt, { message, sentiment }) => {
      setNotice(receiptInWords(receipt));
      if (isKept(receipt)) feed.react(message.id, sentiment);
      void client.invalidateQueries({ queryKey: ["moments"] });
    },
    onError: (error) => setNotice(`Not kept: ${whyNot(error)}`),
  });
  useEffect(() => {
    if (notice === "") return;
    const timer = setTimeout(() => setNotice(""), noticeMs);
    return () => clearTimeout(timer);
  }, [notice]);
  return { notice, sending };
}

/** Why a reaction was refused, in words for a person. */
export function whyNot(error: unknown): string {
  const isUnknown = error instanceof ProblemError && error.status === 400;
  return isUnknown ? "what led to this reply is not in mind any more." : detailOf(error);
}

/** The key of a reaction stays until the server has answered: so it is recorded once. */
async function send(
  chatId: string,
  { message, sentiment, correction }: Judgement,
  keys: Map<string, string>,
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
  const headers = { "Idempotency-Key": key };
  try {
    const receipt = await request<Receipt>("/api/feedback", {
      ...{ method: "POST", body, headers },
    });
    keys.delete(said);
    return receipt;
  } catch (error) {
    if (error instanceof ProblemError && error.status !== 0) keys.delete(said);
    throw error;
  }
}

/** What a package came to hold less, and why. */
const reductions: Readonly<Record<string, string>> = {
  old_target: "Kept: the words alone, for this is from longer ago",
  rate_cap: "Kept: the words alone, for there were many moments in this hour",
  consent: "Kept: without the words, as was agreed",
  disk_full: "Kept: the words alone, for the disk is full",
};

function isKept({ durable, duplicate_of }: Receipt): boolean {
  return durable || duplicate_of !== undefined;
}

function receiptInWords(receipt: Receipt): string {
  if (isKept(receipt)) return reductions[receipt.reduced ?? ""] ?? "Kept";
  return `Not kept: ${receipt.reason ?? "it is still being written"}`;
}

/** By code points: half a character is none. */
function beginningOf(content: string): string {
  return [...content.slice(0, 2 * maxWhat)].slice(0, maxWhat).join("");
}
