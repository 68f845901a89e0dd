import { checkChatId } from "../memories/chat/chat-log.ts";
import type { Chats } from "../memories/chat/chats.ts";
import { leftOverId } from "../memories/chat/foreign-record.ts";
import type { Entry } from "./nanobot-file.ts";
import { markId } from "./own-record.ts";

export type RecordEntry = Extract<Entry, { readonly kind: "message" | "foreign" | "control" }>;

/** Where the records of a source belong. */
export interface Place {
  readonly chatId: string;
  /** `"known"`: all of it is there. `"grown"`: the chat is the start of it, and nothing else. */
  readonly state: "free" | "known" | "grown" | "taken";
  /** Records at the start of the source that the chat has. */
  readonly matched: number;
}

/** What a trial run would have stored by now: the ids of the records of each chat, in their order. */
export type Planned = Map<string, () => AsyncIterable<{ readonly id: string }>>;

/** So many different chats of one name are looked through. */
const maxSuffix = 100;

/**
 * The chat that a source goes to: its own, or if that is another one `id~2`, `id~3` and so on. The
 * ids of imported records come from the source, so the chat that it went to earlier is found again.
 *
 * @param records the records of the source, from the start, at every call.
 * @param planned what counts as stored beside the chats.
 */
export async function findPlace(
  chats: Chats,
  chatId: string,
  records: () => AsyncIterable<RecordEntry>,
  planned: Planned,
): Promise<Place> {
  for (let n = 1; n <= maxSuffix; n++) {
    const candidate = n === 1 ? chatId : `${chatId}~${n}`;
    checkChatId(candidate);
    const plan = planned.get(candidate);
    const { head } = await chats.log.state(candidate);
    const isFree = head === undefined && plan === undefined;
    if (isFree) return { chatId: candidate, state: "free", matched: 0 };
    const stored = plan?.() ?? chats.log.ports.logs.read(candidate);
    const place = await compare(candidate, stored, records());
    if (place.state !== "taken") return place;
  }
  return { chatId, state: "taken", matched: 0 };
}

async function compare(
  chatId: string,
  ids: AsyncIterable<{ readonly id: string }>,
  records: AsyncIterable<RecordEntry>,
): Promise<Place> {
  const stored = ids[Symbol.asyncIterator]();
  let matched = 0;
  let isStoredAtEnd = false;
  try {
    for await (const { record, otherId } of records) {
      let next = await stored.next();
      if (next.done !== true && isPlaceholder(next.value.id)) next = await stored.next();
      if (next.done === true) {
        isStoredAtEnd = true;
        break;
      }
      const { id } = next.value;
      if (![record.id, otherId, markId(record)].includes(id))
        return { chatId, state: "taken", matched: 0 };
      matched++;
    }
    if (isStoredAtEnd) return { chatId, state: "grown", matched };
    if (matched > 0) return { chatId, state: "known", matched };
    const first = await stored.next();
    const isEmpty = first.done === true || isPlaceholder(first.value.id);
    return { chatId, state: isEmpty ? "known" : "taken", matched };
  } finally {
    await stored.return?.();
  }
}

/** A log has at least one record: this one is in a chat that was imported without any. */
export const placeholderId = "import:empty";

const isPlaceholder = (id: string) => id === placeholderId || id === leftOverId;
