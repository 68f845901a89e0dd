import { checkChatId } from "../core/chat/chat-log.ts";
import type { Chats } from "../core/chat/chats.ts";
import type { StoredRecord } from "../core/storage/log-store.ts";
import type { Form } from "./head-lines.ts";
import type { Entry } from "./nanobot-file.ts";
import { StoredWalk } from "./stored-walk.ts";

export type RecordEntry = Extract<Entry, { readonly kind: "message" | "foreign" | "control" }>;

/** What lies in a chat, or would after a trial run. */
export interface Stored {
  readonly records: () => AsyncIterable<StoredRecord>;
  /** What a clear hid: everything up to this number. */
  readonly clearSeq: number;
}

/** Where the records of a source belong. */
export interface Place {
  readonly chatId: string;
  /**
   * `"known"`: all of it is there. `"grown"`: the source is the chat's and goes on, whatever was
   * added here. `"taken"`: no place was found.
   */
  readonly state: "free" | "known" | "grown" | "taken";
  readonly stored: Stored;
  /** Whether something was added to the chat here. */
  readonly hasLocal: boolean;
  /** Ids of the messages that are redacted here, and not in the source. */
  readonly marked: ReadonlySet<string>;
}

/** What a trial run would have stored by now. */
export type Planned = Map<string, Stored>;

/** So many different chats of one name are looked through. */
const maxSuffix = 100;

const nothing: Stored = {
  clearSeq: 0,
  async *records() {
    // a chat that is not there has none
  },
};

/**
 * The chat that a source goes to: its own, or if that is another one `id~2`, `id~3` and so on. The
 * ids of imported records come from the source, so the chat that it went to earlier is found again.
 *
 * What was said or done here after an import makes no other chat of it: the source goes on behind
 * that. Of a file of ours only redactions and erasures are passed over so; with anything else the two
 * went on apart, each with its own sessions and clears, and are two chats.
 *
 * @param records the records of the source, from the start, at every call.
 * @param planned what counts as stored beside the chats.
 */
export async function findPlace(
  chats: Chats,
  { chatId, form }: { readonly chatId: string; readonly form: Form },
  records: () => AsyncIterable<RecordEntry>,
  planned: Planned,
): Promise<Place> {
  const none = { stored: nothing, hasLocal: false, marked: new Set<string>() };
  for (let n = 1; n <= maxSuffix; n++) {
    const candidate = nameOf(chatId, n);
    checkChatId(candidate);
    const stored = await storedIn(chats, candidate, planned);
    if (stored === undefined) return { ...none, chatId: candidate, state: "free" };
    const found = await compare(stored, form, records());
    if (found.state !== "taken") return { ...found, chatId: candidate, stored };
  }
  return { ...none, chatId, state: "taken" };
}

/** What lies in the other chats of the name of a place. */
export async function* namesakes(
  chats: Chats,
  chatId: string,
  place: Place,
  planned: Planned,
): AsyncGenerator<Stored> {
  for (let n = 1; n <= maxSuffix; n++) {
    const candidate = nameOf(chatId, n);
    if (candidate === place.chatId) continue;
    const stored = await storedIn(chats, candidate, planned);
    if (stored === undefined) return;
    yield stored;
  }
}

const nameOf = (chatId: string, n: number) => (n === 1 ? chatId : `${chatId}~${n}`);

async function storedIn(
  chats: Chats,
  chatId: string,
  planned: Planned,
): Promise<Stored | undefined> {
  const plan = planned.get(chatId);
  if (plan !== undefined) return plan;
  const { head } = await chats.log.state(chatId);
  if (head === undefined) return undefined;
  return { records: () => chats.log.ports.logs.read(chatId), clearSeq: head.clear_seq ?? 0 };
}

async function compare(
  stored: Stored,
  form: Form,
  records: AsyncIterable<RecordEntry>,
): Promise<Pick<Place, "state" | "hasLocal" | "marked">> {
  const walk = new StoredWalk(stored.records(), form);
  let isKnown = true;
  const found = (state: Place["state"]) => ({
    ...{ state, hasLocal: walk.hasLocal, marked: walk.marked },
  });
  try {
    for await (const entry of records) {
      const there = await walk.match(entry);
      if (there === "other") return found("taken");
      if (there === "new") isKnown = false;
    }
    if (!isKnown) return found("grown");
    return found(walk.matched > 0 || (await walk.isEmpty()) ? "known" : "taken");
  } finally {
    await walk.end();
  }
}
