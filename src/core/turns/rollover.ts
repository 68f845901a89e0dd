// What ends as a turn begins, and how its person is told: once, with an answer.
import type { Chats } from "../chat/chats.ts";
import { type ControlRecord, isControl, type StoredMessage } from "../chat/message.ts";
import type { Resolution } from "../chat/provider-sessions.ts";
import type { Transaction } from "../chat/transaction.ts";
import { unansweredRecords } from "../chat/unanswered-words.ts";

/** A period that ended, or a provider's part of it. */
export interface EndedPart {
  readonly provider?: string;
  readonly reason: string;
}

export function endedBy({ ended, reason, period }: Resolution): EndedPart | undefined {
  if (ended === "nothing") return undefined;
  return ended === "period" ? { reason } : { provider: period.provider, reason };
}

/**
 * What an attempt before at this message ended, if that began what lasts still: the period, or the
 * provider's part of it.
 */
export async function endedAt(
  chats: Chats,
  { chatId, head: { session: period, provider_start: starts } }: Transaction,
  user: StoredMessage,
): Promise<EndedPart | undefined> {
  if (period === null) return undefined;
  const { generation, provider } = period;
  const reasonOf = async (start: number | undefined, isIt: (ending: ControlRecord) => boolean) => {
    if (start === undefined) return undefined;
    // Before the record of its beginning lies at most what no person had answered.
    const page = { after: Math.max(start - 1, 0), limit: unansweredRecords + 2 };
    const records = await chats.logs.page(chatId, page);
    const ending = records.filter((record) => isControl(record, "session")).findLast(isIt);
    // With the message, in one append, or after it.
    const isSince = ending !== undefined && ending.seq >= user.seq - 1;
    return isSince && typeof ending["reason"] === "string" ? ending["reason"] : undefined;
  };
  const ofPeriod = await reasonOf(period.start_seq, (ending) => {
    return ending["event"] === "rolled_over" && ending["generation"] === generation;
  });
  if (ofPeriod !== undefined) return { reason: ofPeriod };
  const reason = await reasonOf(starts?.[provider], (ending) => {
    return ending["event"] === "provider_reset" && ending["provider"] === provider;
  });
  return reason === undefined ? undefined : { provider, reason };
}

/**
 * What a person should know of the period that a turn began in.
 *
 * @param first comes before that.
 */
export function noticesOf(
  { ended }: { readonly ended: EndedPart | undefined },
  first?: string,
): string[] {
  const notices = first === undefined ? [] : [first];
  if (ended === undefined) return notices;
  const { provider, reason } = ended;
  return [...notices, endNotice(provider, reason)];
}

function endNotice(provider: string | undefined, reason: string): string {
  return provider === undefined
    ? `A new session began (${reason}). The one before is kept and can be read.`
    : `${provider} starts afresh (${reason}). What was said is kept.`;
}
