import { leftOverId } from "../core/chat/foreign-record.ts";
import { isControl } from "../core/chat/message.ts";
import type { StoredRecord } from "../core/storage/log-store.ts";
import type { Form } from "./head-lines.ts";
import { type Entry, isMadeId } from "./nanobot-file.ts";
import { markId } from "./own-record.ts";

/** A log has at least one record: this one is in a chat that was imported without any. */
export const placeholderId = "import:empty";

const isPlaceholder = (id: string) => id === placeholderId || id === leftOverId;

type RecordEntry = Extract<Entry, { readonly otherId: string }>;

/**
 * Goes through a chat and a source side by side, in bounded memory but for the ids of what was added
 * here. What was added is passed over, once something of the source was found before it.
 */
export class StoredWalk {
  readonly #records: AsyncIterator<StoredRecord>;
  readonly #form: Form;
  readonly #local = new Set<string>();
  readonly #marks = new Map<string, StoredRecord>();
  #isAtEnd = false;
  /** Messages that were redacted or erased here, and not in the source. */
  readonly marked = new Set<string>();
  /** Records of the source that the chat has. */
  matched = 0;
  /** The number of the last record that was passed. */
  seq = 0;

  constructor(records: AsyncIterable<StoredRecord>, form: Form) {
    this.#records = records[Symbol.asyncIterator]();
    this.#form = form;
  }

  /** Whether something was said or hidden here. What was erased here leaves nothing to keep. */
  get hasLocal(): boolean {
    const marks = [...this.#marks.values()];
    return this.#local.size > 0 || marks.some((mark) => isControl(mark, "redaction"));
  }

  /**
   * The record that the next one of the source became, or that was made here before it. `"new"`: it comes after all that is stored.
   * `"other"`: something else of a source stands in its place, so this is another chat.
   */
  async match({ record, otherId }: RecordEntry): Promise<StoredRecord | "new" | "other"> {
    const ids = [record.id, otherId, markId(record) ?? otherId];
    const mark = ids.map((id) => this.#marks.get(id)).find((found) => found !== undefined);
    if (mark !== undefined) return mark;
    for (;;) {
      const next = await this.#next();
      if (next === undefined) break;
      if (ids.includes(next.id)) {
        this.matched++;
        return next;
      }
      if (isPlaceholder(next.id)) continue;
      if (this.matched === 0 || !this.#isLocal(next)) return "other";
      this.#pass(next);
    }
    return ids.some((id) => this.#local.has(id)) ? "other" : "new";
  }

  /** Whether the chat was imported without any record. */
  async isEmpty(): Promise<boolean> {
    const next = await this.#next();
    return next === undefined || isPlaceholder(next.id);
  }

  async end(): Promise<void> {
    await this.#records.return?.();
  }

  async #next(): Promise<StoredRecord | undefined> {
    if (this.#isAtEnd) return undefined;
    const next = await this.#records.next();
    this.#isAtEnd = next.done === true;
    if (next.done === true) return undefined;
    this.seq = next.value.seq;
    return next.value;
  }

  #isLocal(record: StoredRecord): boolean {
    // The ids of a seed's records are made by us; those of a file of ours look like any other.
    return this.#form === "own" ? isMark(record) : !isMadeId(record.id);
  }

  #pass(record: StoredRecord): void {
    if (!isMark(record)) this.#local.add(record.id);
    else {
      this.#marks.set(record.id, record);
      if (typeof record["target"] === "string") this.marked.add(record["target"]);
    }
  }
}

const isMark = (record: StoredRecord) =>
  isControl(record, "redaction") || isControl(record, "erasure");
