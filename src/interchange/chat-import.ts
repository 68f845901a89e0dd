import { attachedIn } from "../core/chat/attachments.ts";
import { type ChatHead, titleFrom } from "../core/chat/chat-head.ts";
import { checkChatId } from "../core/chat/chat-log.ts";
import { conflict, corrupt, invalid } from "../core/errors.ts";
import { isErased } from "../core/storage/batch.ts";
import { storeAttachments } from "./attachment-parts.ts";
import { type Imported, importedField, readImported, writeChat } from "./chat-writer.ts";
import type { Counted, Form } from "./head-lines.ts";
import {
  attempt,
  type ImportOptions,
  type ImportReport,
  type Notes,
  newReport,
  type Source,
  setAside,
} from "./import.ts";
import { readLine } from "./lines.ts";
import { type RecordEntry, readEntries } from "./nanobot-file.ts";
import type { OwnRecord } from "./own-record.ts";
import { digestOf, type Scan, sameBytes, scan } from "./read-source.ts";

/**
 * Imports files of which each is a chat: nanobot's JSONL, or with the form `"own"` what
 * `exportChats` wrote. Sources are read and never changed. A chat remembers length and digest of its
 * source: importing an unchanged one again adds nothing; one of the seed that has grown adds the rest, if
 * nothing else was written to its chat. Every other source of an existing chat is reported as failed. Of
 * two sources that name the same chat the newer one comes first.
 *
 * A chat that was forgotten here comes back only with `force`.
 *
 * @throws ThroughlineError what storing rejects with. What is wrong with a source is in the report.
 */
export async function importChats(
  sources: Iterable<Source>,
  options: ImportOptions,
  form: Form = "seed",
  report = newReport(),
): Promise<ImportReport> {
  const found: Pick<Scan, "source" | "newestAt">[] = [];
  for (const source of sources) {
    await attempt(report, source.name, async () => {
      const { newestAt } = await scan(source, form, options.zone);
      found.push({ source, newestAt });
    });
  }
  if (options.into !== undefined && found.length > 1) {
    throw invalid("only a source of one chat can be imported into a chat of another name");
  }
  // The newest of a chat comes first, and so gets its name.
  found.sort((a, b) => b.newestAt - a.newestAt || (a.source.name < b.source.name ? -1 : 1));
  for (const { source } of found) {
    await attempt(report, source.name, async () => {
      const scanned = await scan(source, form, options.zone);
      await new ChatImport(scanned, form, options, report).run();
    });
  }
  return report;
}

class ChatImport {
  readonly #scan: Scan;
  readonly #form: Form;
  readonly #options: ImportOptions;
  readonly #report: ImportReport;
  readonly #notes: Notes;
  #seq = 0;
  #messages = 0;
  /** Of these, those that were not taken back. */
  #counted = 0;
  #cleared = 0;
  #foreign = 0;
  /** Messages that were stored, or would be. */
  #added = 0;
  #title: { readonly text: string; readonly of: string } | undefined;
  #lastAt = "";

  constructor(scanned: Scan, form: Form, options: ImportOptions, report: ImportReport) {
    this.#scan = scanned;
    this.#form = form;
    this.#options = options;
    this.#report = report;
    this.#notes = scanned.notes;
  }

  async run(): Promise<void> {
    const { chatId: key, unreadable, records, messages, head, source } = this.#scan;
    setAside(this.#report, this.#scan.setAside, unreadable);
    const { dryRun, into: chatId = key } = this.#options;
    const has = dryRun ? undefined : await this.#has(chatId);
    const isKnown = has?.digest === this.#scan.digest;
    const forgotten_at = isKnown ? undefined : await this.#forgottenAt(chatId);
    if (records === 0 && head.count === 0 && unreadable > 0) {
      throw corrupt("nothing in it can be read");
    }
    if (records > 0 && messages === 0 && head.count === 0) {
      throw invalid("it is no chat of nanobot: no line of it has a role and a content");
    }
    this.#checkEnd();
    if (forgotten_at !== undefined) {
      this.#report.refused.push({ chat_id: chatId, source: source.name, forgotten_at, messages });
      return;
    }
    if (has !== undefined && !isKnown && !(await this.#isGrown(chatId, has))) {
      const name = JSON.stringify(chatId);
      const wayOut = "import it into a new chat with --into NEW";
      throw conflict(`the chat ${name} is here, and not only of this source: ${wayOut}`);
    }
    if (isKnown || dryRun)
      for await (const _ of this.#fill(has)); // counts
    else {
      await writeChat(this.#options.chats, chatId, has, (old) => this.#whole(chatId, has, old));
    }
    this.#report.foreign += this.#foreign;
    this.#report.chats.push({
      chat_id: chatId,
      source: source.name,
      messages: this.#added,
      skipped: this.#messages - this.#added,
      foreign: this.#foreign,
      notes: this.#notes.list(),
    });
  }

  #checkEnd(): void {
    if (this.#scan.bytes === 0) this.#notes.add("the file is empty");
    else if (this.#form === "own" && !this.#scan.hasEnd) {
      // What is missing may be a removal of what is there.
      if (!this.#options.force) throw corrupt("its end is missing: --force takes what is there");
      this.#notes.add("its end is missing");
    }
  }

  /** What an existing chat has of the source that it was imported from. */
  async #has(chatId: string): Promise<Imported | undefined> {
    checkChatId(chatId);
    const { head } = await this.#options.chats.state(chatId);
    return head && (readImported(head) ?? ofNoSource);
  }

  /** Whether the source goes on where a chat ends that has all the rest, and nothing else. */
  async #isGrown(chatId: string, { bytes, digest, seq }: Imported): Promise<boolean> {
    const { chats } = this.#options;
    const { source } = this.#scan;
    if (this.#form !== "seed" || bytes >= this.#scan.bytes) return false;
    if ((await chats.state(chatId)).seq !== seq) return false;
    if ((await digestOf(source, bytes)) !== digest) return false;
    if (this.#scan.unreadable > 0 && (await this.#hasLostEnd(bytes))) return false;
    // What was erased here may be repeated in the rest.
    for await (const record of chats.logs.read(chatId)) if (isErased(record)) return false;
    return true;
  }

  /** Whether the source once ended in a record that is none now: those after it would be counted one too low. */
  async #hasLostEnd(bytes: number): Promise<boolean> {
    for await (const entry of this.#entries()) {
      if (entry.kind !== "unreadable" || entry.line.offset >= bytes) continue;
      const { line } = entry;
      const was = line.bytes.subarray(0, bytes - line.offset);
      if (was.length < line.bytes.length && "object" in (readLine(was) ?? {})) return true;
    }
    return false;
  }

  /** When the chat that the source names, or the one that it goes to, was forgotten. */
  async #forgottenAt(chatId: string): Promise<string | undefined> {
    const { chats, force } = this.#options;
    if (force) return undefined;
    return (await chats.forgottenAt(this.#scan.chatId)) ?? (await chats.forgottenAt(chatId));
  }

  /** Gives what the chat lacks. @param has what it has of the source; absent: there is no such chat. */
  async *#whole(
    chatId: string,
    has: Imported | undefined,
    old: ChatHead | undefined,
  ): AsyncGenerator<OwnRecord, ChatHead> {
    await this.#storeFiles(chatId);
    if (old?.title) this.#title = { text: old.title, of: old.title_of ?? "" };
    const head = yield* this.#fill(has);
    const whole = old === undefined ? head : this.#grownHead(old, head);
    const { digest, bytes, records } = this.#scan;
    return { ...whole, [importedField]: { digest, bytes, records, seq: this.#seq } };
  }

  /** Stores the files of the messages that are imported, before any of these. */
  async #storeFiles(chatId: string): Promise<void> {
    if (this.#scan.attached === 0) return;
    const wanted = new Set<string>();
    const { files } = this.#options.chats;
    for await (const entry of this.#records()) {
      if (entry.file !== undefined) await files.put(chatId, entry.file);
      for (const hash of attachedIn(entry.record)) wanted.add(hash);
    }
    const missing = await storeAttachments(this.#entries(), { files, chatId, wanted });
    for (const _ of missing) this.#notes.add("an attachment of a message is not in the file");
  }

  /** Counts everything, and gives what is new. @returns the head that goes with it. */
  async *#fill(has: Imported | undefined): AsyncGenerator<OwnRecord, ChatHead> {
    let place = 0;
    this.#seq = has?.seq ?? 0;
    for await (const entry of this.#records()) {
      const isNew = ++place > (has?.records ?? 0);
      if (isNew) this.#seq++;
      this.#notes.add(...entry.notes);
      this.#count(entry, isNew);
      if (isNew) yield entry.record;
    }
    const head = this.#head();
    if (this.#seq === 0) {
      this.#seq = 1;
      yield { ...placeholder, timestamp: head.updated_at };
    }
    return head;
  }

  #count({ kind, record }: RecordEntry, isNew: boolean): void {
    if (kind === "foreign") this.#foreign++;
    if (kind !== "message") return;
    this.#messages++;
    if (!this.#scan.uncounted.has(record.id)) {
      this.#counted++;
      if (this.#seq <= this.#scan.head.clearSeq) this.#cleared++;
    }
    const { role, content, timestamp, hidden } = record;
    if (typeof timestamp === "string" && timestamp !== "") this.#lastAt = timestamp;
    if (!isNew) return;
    this.#added++;
    if (this.#title !== undefined || role !== "user" || hidden === true) return;
    const text = titleFrom(String(content));
    if (text !== "") this.#title = { text, of: record.id };
  }

  #head(): ChatHead {
    const counted: Counted = {
      messages: this.#counted,
      cleared: this.#cleared,
      lastSeq: this.#seq,
      lastAt: this.#lastAt,
      title: this.#title?.text ?? "",
      titleOf: this.#title?.of,
    };
    return this.#scan.head.head(counted, this.#notes);
  }

  /** The head of a chat to which a source has added records. */
  #grownHead(before: ChatHead, head: ChatHead): ChatHead {
    const { session } = before;
    const { title_of: _, ...kept } = before;
    const { extra: __, created_at: ___, ...given } = head;
    return { ...kept, ...given, session, message_count: before.message_count + this.#added };
  }

  async *#records(): AsyncGenerator<RecordEntry> {
    for await (const entry of this.#entries()) if ("record" in entry) yield entry;
  }

  #entries() {
    const { chatId } = this.#scan;
    const options = { form: this.#form, chatId, zone: this.#options.zone };
    return readEntries(sameBytes(this.#scan), options);
  }
}

const ofNoSource: Imported = { digest: "", bytes: 0, records: 0, seq: -1 };

/** A log has at least one record: this one is in a chat that was imported without any. */
const placeholder = { id: "import:empty", _type: "metadata", kind: "metadata", metadata: {} };
