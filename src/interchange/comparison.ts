import { isControl } from "../core/chat/message.ts";
import { isErased } from "../core/storage/batch.ts";
import type { StoredRecord } from "../core/storage/log-store.ts";
import type { RecordEntry } from "./nanobot-file.ts";
import { isSummary, markId } from "./own-record.ts";
import type { Stored, Withheld } from "./withheld.ts";

/** A log has at least one record: this one is in a chat that was imported without any. */
export const placeholderId = "import:empty";

/**
 * How a source compares with a chat. `"known"`: the chat begins with all of the source. `"grown"`: the
 * source continues where the chat ends. `"withheld"`: nothing is left of the source without what must
 * not come back. `"other"`: something else was written to the chat.
 */
export type Relation = "known" | "grown" | "withheld" | "other";

/** Reads a source and the chat that it may belong to side by side, record by record. */
export class Comparison {
  readonly #stored: AsyncIterator<StoredRecord>;
  readonly #withheld: Withheld;
  #next: IteratorResult<StoredRecord> | undefined;
  #matched = 0;
  #hasErased = false;
  /** What of the source must not come back. */
  readonly leftOut = { records: 0, messages: 0 };
  /** The number of the last stored record that was read. */
  seq = 0;

  constructor(stored: Stored, withheld: Withheld) {
    this.#stored = stored.records()[Symbol.asyncIterator]();
    this.#withheld = withheld;
  }

  /** Compares all of a source. */
  async relation(entries: AsyncIterable<RecordEntry>): Promise<Relation> {
    let isGrown = false;
    for await (const entry of entries) {
      const found = await this.find(entry);
      if (found === "other") return "other";
      if (found === "new") isGrown = true;
    }
    if (isGrown) return "grown";
    if (this.#matched > 0) return "known";
    if (this.leftOut.records > 0) return "withheld";
    return (await this.#isEmpty()) ? "known" : "other";
  }

  /** The stored record that the next one of the source became, or why there is none. */
  async find(entry: RecordEntry): Promise<StoredRecord | "new" | "withheld" | "other"> {
    const { record, otherId } = entry;
    const ids = [record.id, otherId, markId(record)];
    for (;;) {
      const next = await this.#peek();
      if (next !== undefined && ids.includes(next.id)) {
        this.#pass();
        this.#matched++;
        this.#hasErased ||= isErased(next) && !isErased(record);
        return next;
      }
      if (this.#isLeftOut(entry)) return "withheld";
      if (next === undefined) return this.#hasErased ? "other" : "new";
      if (!isOfImport(next)) return "other";
      this.#pass();
    }
  }

  async end(): Promise<void> {
    await this.#stored.return?.();
  }

  #isLeftOut(entry: RecordEntry): boolean {
    // A summary may repeat what was left out before it.
    const repeats = this.leftOut.records > 0 && isSummary(entry.record);
    if (!repeats && !this.#withheld.has(entry)) return false;
    this.leftOut.records++;
    if (entry.kind === "message") this.leftOut.messages++;
    return true;
  }

  /** Whether the chat was imported without any record. */
  async #isEmpty(): Promise<boolean> {
    const next = await this.#peek();
    return next === undefined || isOfImport(next);
  }

  async #peek(): Promise<StoredRecord | undefined> {
    this.#next ??= await this.#stored.next();
    return this.#next.done === true ? undefined : this.#next.value;
  }

  #pass(): void {
    if (this.#next === undefined || this.#next.done === true) return;
    this.seq = this.#next.value.seq;
    this.#next = undefined;
  }
}

/** A record that an import made of no line: it says that something was imported. */
function isOfImport(record: StoredRecord): boolean {
  return isControl(record) && record.id.startsWith("import:");
}
