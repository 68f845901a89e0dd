// What ends as a turn begins, and how its person is told: once, with an answer.
import type { Chats } from "../memories/chat/chats.ts";
import type { Draft } from "../memories/chat/draft.ts";
import { isControl, type StoredMessage } from "../memories/chat/message.ts";
import type { Resolution } from "../memories/provider-session/provider-sessions.ts";

/** A session that ended, or a provider's part of it. */
export interface EndedPart {
  readonly provider?: string;
  readonly reason: string;
}

export function endedBy({ ended, reason, session }: Resolution): EndedPart | undefined {
  if (ended === "nothing") return undefined;
  return ended === "session" ? { reason } : { provider: session.provider, reason };
}

/**
 * What an attempt before at this message ended, if that began what lasts still: the session, or the
 * provider's part of it.
 */
export async function endedAt(
  chats: Chats,
  { chatId, head }: Draft,
  user: StoredMessage,
): Promise<EndedPart | undefined> {
  const { session, provider_start: starts } = head;
  const ownStart = session === null ? undefined : starts?.[session.provider];
  for (const seq of [session?.start_seq, ownStart]) {
    // With the message, in one append, or after it.
    if (seq === undefined || seq < user.seq - 1) continue;
    const [record] = await chats.log.ports.logs.page(chatId, { after: seq - 1, limit: 1 });
    if (record === undefined || !isControl(record, "session")) continue;
    const { event, provider, reason } = record;
    if (typeof reason !== "string" || typeof provider !== "string") continue;
    if (event === "rolled_over") return { reason };
    if (event === "provider_reset") return { provider, reason };
  }
  return undefined;
}

/** What a person should know of the session that a turn began in. */
export function noticesOf({ ended }: { readonly ended: EndedPart | undefined }): string[] {
  if (ended === undefined) return [];
  const { provider, reason } = ended;
  return provider === undefined
    ? [`A new session began (${reason}). The one before is kept and can be read.`]
    : [`${provider} starts afresh (${reason}). What was said is kept.`];
}
