import { createHash } from "node:crypto";
import type { ChatHead } from "../core/chat/chat-head.ts";
import { isControl, isMessage } from "../core/chat/message.ts";
import { marksIn, pendingId } from "../core/chat/shown-messages.ts";
import { isJsonObject } from "../core/json.ts";
import { erasedJson, isErased } from "../core/storage/batch.ts";
import type { StoredRecord } from "../core/storage/log-store.ts";
import type { OwnRecord } from "./own-record.ts";
import type { RecordEntry, Stored } from "./place.ts";

/**
 * What was redacted, erased or cleared in some chats, so that it does not come back in another one.
 * It is known by its ids, and where its words are still stored, by who said them when: a line that
 * has moved within its file has another id. Grows with what is hidden.
 */
export class Hidden {
  readonly #ids = new Set<string>();
  readonly #said = new Set<string>();

  async add({ records, clearSeq }: Stored): Promise<void> {
    const { redacted } = await marksIn(records());
    for (const id of redacted) this.#addId(id);
    for await (const record of records()) {
      if (isErased(record)) this.#addId(record.id);
      else if (hasWords(record) && (record.seq <= clearSeq || redacted.has(record.id))) {
        this.#addId(record.id);
        if (isMessage(record)) this.#said.add(saying(record));
      }
    }
  }

  has({ kind, record, otherId }: RecordEntry): boolean {
    if (isErased(record)) return false;
    const extra = record["extra"];
    // A message of ours that went out to another program has its id there when it comes back.
    const given = kind === "message" && isJsonObject(extra) ? extra["id"] : undefined;
    if ([record.id, otherId, given].some((id) => typeof id === "string" && this.#ids.has(id))) {
      return true;
    }
    return kind === "message" && this.#said.has(saying(record));
  }

  #addId(id: string): void {
    this.#ids.add(id).add(pendingId(id));
  }
}

function hasWords(record: StoredRecord): boolean {
  const kinds = ["foreign", "pending_input", "compaction"] as const;
  return isMessage(record) || kinds.some((kind) => isControl(record, kind));
}

function saying({ role, content, timestamp }: OwnRecord): string {
  const said = JSON.stringify([role, content, timestamp]);
  return createHash("sha256").update(said).digest("base64");
}

/** What stands in the place of a record that is left out: its id, so that it is found again. */
export const leftOut = (id: string) => JSON.parse(erasedJson(id)) as OwnRecord;

/** What is hidden here of a source that says it: where its messages stood in it, and their ids. */
export interface HiddenOf {
  /** How many messages of the source were before each one that is no message here, rising. */
  readonly goneAt: readonly number[];
  readonly ids: ReadonlySet<string>;
  /** A title that tells nothing of them. */
  readonly title: Pick<ChatHead, "title" | "title_of">;
}

/** The head that a source gives, without what it repeats or counts of what is hidden here. */
export function headWithout(head: ChatHead, { goneAt, ids, title }: HiddenOf): ChatHead {
  if (ids.size === 0) return head;
  const less = (count: number) => count - goneAt.filter((index) => index < count).length;
  const isHidden = (id: string) => ids.has(id) || ids.has(pendingId(id));
  const { title: given, title_of, open_turn, pending, reported: _, cleared_count, ...rest } = head;
  const waiting = pending?.filter((id) => !isHidden(id)) ?? [];
  const isTitled = title_of === undefined || !isHidden(title_of);
  const isOpen = open_turn !== undefined && !isHidden(open_turn.id);
  const changed = {
    ...rest,
    ...(isTitled ? { title: given, ...(title_of && { title_of }) } : title),
    ...(isOpen ? { open_turn } : {}),
    ...(waiting.length > 0 ? { pending: waiting } : {}),
    ...(cleared_count === undefined ? {} : { cleared_count: less(cleared_count) }),
    message_count: less(head.message_count),
    last_consolidated: less(head.last_consolidated),
  };
  return changed as ChatHead;
}

/**
 * The head of a chat that a seed's source goes on with. Where something was done here, what the chat
 * says of itself is as it was left here.
 */
export function grownHead(
  before: ChatHead,
  head: ChatHead,
  { added, hasLocal }: { readonly added: number; readonly hasLocal: boolean },
): ChatHead {
  const { updated_at, metadata, last_consolidated, title, title_of } = head;
  const { title: own, title_of: ownOf, ...kept } = before;
  const isOwn = hasLocal && own !== "";
  const named = isOwn ? { title: own, title_of: ownOf } : { title, title_of };
  const grown = {
    ...{ ...kept, message_count: before.message_count + added, title: named.title },
    ...(named.title_of && { title_of: named.title_of }),
  };
  if (!hasLocal) return { ...grown, updated_at, metadata, last_consolidated };
  return updated_at > before.updated_at ? { ...grown, updated_at } : grown;
}
