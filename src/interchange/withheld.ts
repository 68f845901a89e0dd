import { createHash } from "node:crypto";
import { isControl, isMessage } from "../core/chat/message.ts";
import { marksIn, pendingId } from "../core/chat/shown-messages.ts";
import { instantOf } from "../core/chat/stamp.ts";
import { isJsonObject, type JsonObject } from "../core/json.ts";
import { isErased } from "../core/storage/batch.ts";
import type { StoredRecord } from "../core/storage/log-store.ts";
import type { RecordEntry } from "./nanobot-file.ts";

/** The records of a chat, or what a trial run would have stored. */
export interface Stored {
  readonly records: () => AsyncIterable<StoredRecord>;
  /** A clear hid every record up to this number. */
  readonly clearSeq: number;
}

/**
 * What was redacted, taken back, erased or cleared in some chats. It is recognised by its ids and, while its words
 * are still stored, by who said them when: a line that has moved within its file has another id.
 */
export class Hidden {
  readonly #ids = new Set<string>();
  readonly #said = new Set<string>();

  async add({ records, clearSeq }: Stored): Promise<void> {
    const { redacted, takenBack } = await marksIn(records());
    const hidden = new Set([...redacted, ...takenBack]);
    for (const id of hidden) this.#addId(id);
    for await (const record of records()) {
      if (isErased(record)) this.#addId(record.id);
      else if (hasWords(record) && (record.seq <= clearSeq || hidden.has(record.id))) {
        this.#addId(record.id);
        if (isMessage(record)) this.#said.add(saying(record));
      }
    }
  }

  get isEmpty(): boolean {
    return this.#ids.size === 0 && this.#said.size === 0;
  }

  has({ kind, record, otherId }: RecordEntry): boolean {
    if (isErased(record)) return false;
    const { extra } = record;
    // A message of ours that was exported for another program comes back with its id in `extra`.
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

/** What an import leaves out, because a person had it forgotten or hidden here. */
export class Withheld {
  readonly #hidden: Hidden;
  readonly forgottenAt: string | undefined;

  constructor(hidden: Hidden, forgottenAt: string | undefined) {
    this.#hidden = hidden;
    this.forgottenAt = forgottenAt;
  }

  get isEmpty(): boolean {
    return this.forgottenAt === undefined && this.#hidden.isEmpty;
  }

  has(entry: RecordEntry): boolean {
    return this.#hidden.has(entry) || this.#isForgotten(entry);
  }

  #isForgotten({ record }: RecordEntry): boolean {
    const forgottenAt = instantOf(this.forgottenAt);
    if (forgottenAt === undefined) return false;
    const at = instantOf(record["timestamp"]);
    // A record without a time may be from before.
    return at === undefined || at <= forgottenAt;
  }
}

function hasWords(record: StoredRecord): boolean {
  const kinds = ["foreign", "pending_input", "compaction"] as const;
  return isMessage(record) || kinds.some((kind) => isControl(record, kind));
}

function saying({ role, content, timestamp }: JsonObject): string {
  const said = JSON.stringify([role, content, timestamp]);
  return createHash("sha256").update(said).digest("base64");
}
