import { attachedIn } from "../core/chat/attached.ts";
import { type ChatHead, titleFrom } from "../core/chat/chat-head.ts";
import { checkChatId } from "../core/chat/chat-log.ts";
import { isControlId } from "../core/chat/control-ids.ts";
import { foreignRecord, leftOverId } from "../core/chat/message.ts";
import { invalid, isThroughlineError, ThroughlineError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import { isErased } from "../core/storage/batch.ts";
import type { StoredRecord } from "../core/storage/log-store.ts";
import { storeAttachments } from "./attachment-parts.ts";
import { type Fill, writeChat } from "./chat-writer.ts";
import { Comparison, placeholderId, type Relation } from "./comparison.ts";
import type { Counted, Form } from "./head-lines.ts";
import {
  type ImportOptions,
  type ImportReport,
  type Notes,
  ReportDraft,
  type SetAside,
  type Source,
} from "./import.ts";
import { type RecordEntry, readEntries } from "./nanobot-file.ts";
import { markId, type OwnRecord, SeqMap, withSeqs } from "./own-record.ts";
import { type Scan, sameBytes, scan } from "./read-source.ts";
import { Hidden, type Stored, Withheld } from "./withheld.ts";

/**
 * Imports files of which each is a chat: nanobot's JSONL, or with the form `"own"` what
 * `exportChats` wrote. Sources are read and never changed. Importing an unchanged source again adds
 * nothing; one that has grown adds its new lines, as long as nothing else was written to its chat.
 * Otherwise that source is reported as failed. Of two sources that name the same chat the newer one is
 * that chat, the other a second one: `id~2`.
 *
 * What was forgotten, redacted, taken back, erased or cleared here comes back only with `force`.
 *
 * @throws ThroughlineError what storing rejects with. What is wrong with a source is in the report.
 */
export async function importChats(
  sources: Iterable<Source>,
  options: ImportOptions,
  form: Form = "seed",
): Promise<ImportReport> {
  const report = new ReportDraft();
  const found: { readonly source: Source; readonly chatId: string; readonly at: number }[] = [];
  for (const source of sources) {
    await attempt(report, source.name, async () => {
      const { chatId, newestAt } = await scan(source, form, options.zone);
      found.push({ source, chatId, at: newestAt });
    });
  }
  if (options.into !== undefined && found.length > 1) {
    throw invalid("only a source of one chat can be imported into a chat of another name");
  }
  // The newest of a chat comes first, and so gets its name.
  found.sort((a, b) => b.at - a.at || (a.source.name < b.source.name ? -1 : 1));
  const imported = new Set<string>();
  const planned: Planned = new Map();
  for (const { source, chatId } of found) {
    await attempt(report, source.name, async () => {
      const scanned = await scan(source, form, options.zone);
      const chat = new ChatImport(scanned, form, options, { report, planned });
      await chat.run(imported.has(chatId));
      imported.add(chatId);
    });
  }
  return report.done();
}

/** What is wrong with one source stops no other. */
export async function attempt(report: ReportDraft, source: string, work: () => Promise<void>) {
  try {
    await work();
  } catch (error) {
    const reason = error instanceof Error ? error.message : "";
    if (isThroughlineError(error) && codesOfSources.includes(error.code)) {
      report.failed.push({ source, code: error.code, reason });
    } else if (error instanceof Error && "syscall" in error) {
      report.failed.push({ source, code: "THROUGHLINE_UNAVAILABLE", reason });
    } else throw error;
  }
}

const codesOfSources = [
  "THROUGHLINE_INVALID",
  "THROUGHLINE_TOO_LARGE",
  "THROUGHLINE_CONFLICT",
  "THROUGHLINE_CORRUPT",
];

/** What a trial run would have stored by now, by chat. */
type Planned = Map<string, Stored>;

/** The chat that a source goes to. */
interface Target {
  readonly chatId: string;
  readonly isNew: boolean;
  readonly isKnown: boolean;
  readonly stored: Stored;
  readonly withheld: Withheld;
}

/** A record of a source, and where it is stored, or would be. */
interface Placed {
  readonly entry: RecordEntry;
  readonly record: OwnRecord;
  readonly seq: number;
  readonly isNew: boolean;
}

class ChatImport {
  readonly #scan: Scan;
  readonly #form: Form;
  readonly #options: ImportOptions;
  readonly #report: ReportDraft;
  readonly #planned: Planned;
  readonly #notes: Notes;
  #seq = 0;
  #messages = 0;
  #cleared = 0;
  #erased = 0;
  #foreign = 0;
  /** Messages that were stored, or would be. */
  #added = 0;
  #title: { readonly text: string; readonly of: string } | undefined;
  #lastAt = "";
  readonly #seqs = new SeqMap();

  constructor(
    scanned: Scan,
    form: Form,
    options: ImportOptions,
    { report, planned }: { readonly report: ReportDraft; readonly planned: Planned },
  ) {
    this.#scan = scanned;
    this.#form = form;
    this.#options = options;
    this.#report = report;
    this.#planned = planned;
    this.#notes = scanned.notes;
  }

  /** @param isSecond a newer source of the same import names this chat too. */
  async run(isSecond: boolean): Promise<void> {
    const { chatId: key, unreadable, records, head } = this.#scan;
    const { dryRun, into = key } = this.#options;
    if (records === 0 && head.count === 0 && unreadable > 0) {
      // No chat is made of it: its bytes are kept for the chat that it names.
      await this.#setAside(into, (await this.#forgottenAt(into)) === undefined);
      throw corrupt("nothing in it can be read");
    }
    this.#checkEnd();
    const target = await this.#target(isSecond);
    if (target === undefined) return;
    const { chatId, isKnown, withheld } = target;
    await this.#setAside(chatId, !isKnown && withheld.forgottenAt === undefined);
    const { clear_seq: clearSeq = 0 } = await this.#store(target);
    this.#report.chats.push({
      chat_id: chatId,
      source: this.#scan.source.name,
      messages: this.#added,
      skipped: this.#messages - this.#added,
      foreign: this.#foreign,
      notes: this.#notes.list(),
    });
    if (!dryRun || isKnown) return;
    this.#planned.set(chatId, { records: () => this.#wouldHold(target), clearSeq });
  }

  #checkEnd(): void {
    if (this.#scan.bytes === 0) this.#notes.add("the file is empty");
    else if (this.#form === "own" && !this.#scan.hasEnd) {
      // What is missing may be a redaction of what is there.
      if (!this.#options.force) throw corrupt("its end is missing: --force takes what is there");
      this.#notes.add("its end is missing");
    }
  }

  /**
   * The chat that the source goes to. The ids of imported records come from the source, so the chat
   * that it went to earlier is found again.
   *
   * @returns `undefined` when nothing of the source may come back.
   * @throws ThroughlineError `THROUGHLINE_CONFLICT`: something else was written to the chat here.
   */
  async #target(isSecond: boolean): Promise<Target | undefined> {
    const { chatId: key } = this.#scan;
    const { into, force } = this.#options;
    const hidden = new Hidden();
    if (!force) for await (const stored of this.#namesakes()) await hidden.add(stored);
    for (let n = 1; n <= (into === undefined ? maxNamesakes : 1); n++) {
      const chatId = into ?? nameOf(key, n);
      const found = await this.#storedIn(chatId);
      const isNew = found === undefined;
      if (isNew && n > 1 && !isSecond) break;
      const stored = found ?? nothing;
      const withheld = new Withheld(hidden, await this.#forgottenAt(chatId));
      const relation =
        isNew && withheld.isEmpty ? "grown" : await this.#compare(chatId, stored, withheld);
      if (relation === "withheld") return undefined;
      if (relation === "other") continue;
      if (chatId !== nameOf(key, 1) && into === undefined) {
        const other = isSecond ? "a newer file" : "another chat";
        this.#notes.add(`${other} is ${key}: this one is kept as ${chatId}`);
      }
      return { chatId, isNew, isKnown: !isNew && relation === "known", stored, withheld };
    }
    throw writtenTo(into ?? key);
  }

  /** How the source compares with a chat. What must not come back is reported. */
  async #compare(chatId: string, stored: Stored, withheld: Withheld): Promise<Relation> {
    const comparison = new Comparison(stored, withheld);
    try {
      const relation = await comparison.relation(this.#records());
      const { records, messages } = comparison.leftOut;
      if (relation !== "other" && records > 0) {
        const { name: source } = this.#scan.source;
        const { forgottenAt: forgotten_at } = withheld;
        this.#report.refused.push({ chat_id: chatId, source, forgotten_at, messages });
      }
      return relation;
    } finally {
      await comparison.end();
    }
  }

  /** When the chat that the source names, or the one that it goes to, was forgotten. */
  async #forgottenAt(chatId: string): Promise<string | undefined> {
    const { chats, force } = this.#options;
    if (force) return undefined;
    const named = (await chats.forgottenAt(this.#scan.chatId)) ?? "";
    const target = (await chats.forgottenAt(chatId)) ?? "";
    return (named > target ? named : target) || undefined;
  }

  /** The chats that have the name of the source's chat. */
  async *#namesakes(): AsyncGenerator<Stored> {
    for (let n = 1; n <= maxNamesakes; n++) {
      const stored = await this.#storedIn(nameOf(this.#scan.chatId, n));
      if (stored !== undefined) yield stored;
      else if (n > 1) return;
    }
  }

  async #storedIn(chatId: string): Promise<Stored | undefined> {
    checkChatId(chatId);
    const planned = this.#planned.get(chatId);
    if (planned !== undefined) return planned;
    const { log } = this.#options.chats;
    const { head } = await log.state(chatId);
    if (head === undefined) return undefined;
    return { records: () => log.ports.logs.read(chatId), clearSeq: head.clear_seq ?? 0 };
  }

  /** Stores what the chat lacks, but in a trial run. @returns the head that the chat has then. */
  async #store(target: Target): Promise<ChatHead> {
    const { chats, dryRun } = this.#options;
    const { chatId, isNew, isKnown } = target;
    const fill: Fill = async (put, before) => {
      await this.#storeFiles(target);
      if (before?.title) this.#title = { text: before.title, of: before.title_of ?? "" };
      const head = await this.#fill(target, put);
      return before === undefined ? head : this.#grownHead(before, head);
    };
    if (!dryRun && !isKnown) return writeChat(chats, chatId, { isNew }, fill);
    const { head } = await chats.log.state(chatId);
    return fill(async () => undefined, isKnown ? undefined : head);
  }

  /** Stores the files of the messages that are imported, before any of these. */
  async #storeFiles({ chatId, isKnown, withheld }: Target): Promise<void> {
    const { chats, dryRun } = this.#options;
    if (isKnown || this.#scan.attached === 0) return;
    const wanted = new Set<string>();
    for await (const entry of this.#records()) {
      if (!withheld.has(entry)) for (const hash of attachedIn(entry.record)) wanted.add(hash);
    }
    const { files } = chats;
    const missing = await storeAttachments(this.#entries(), { files, chatId, wanted, dryRun });
    for (const _ of missing) this.#notes.add("an attachment of a message is not in the file");
  }

  /** Hands over what is new, and counts everything. */
  async #fill(target: Target, put: (record: OwnRecord) => Promise<void>): Promise<ChatHead> {
    const { chatId, stored, withheld } = target;
    const comparison = new Comparison(stored, withheld);
    try {
      for await (const placed of this.#placed(chatId, comparison)) {
        const { entry, seq, isNew } = placed;
        this.#noteOf(entry, placed.record.id);
        this.#seq = seq;
        if (entry.oldSeq !== undefined) this.#seqs.add(entry.oldSeq, seq);
        this.#count(placed);
        if (isNew) await put(withSeqs(placed.record, (old) => this.#seqs.of(old)));
      }
    } finally {
      await comparison.end();
    }
    const isWhole = withheld.forgottenAt === undefined && comparison.leftOut.records === 0;
    const { head, left } = this.#head(isWhole);
    if (Object.keys(left).length > 0 && !(await this.#hasLeft(target))) {
      this.#foreign++;
      this.#seq++;
      await put(foreignRecord(left, leftOverId) as OwnRecord);
    }
    if (target.isNew && this.#seq === 0) await put({ ...placeholder, timestamp: head.updated_at });
    return head;
  }

  /** The records of the source that are in the chat, or will be. */
  async *#placed(chatId: string, comparison: Comparison): AsyncGenerator<Placed> {
    const idOf = freeIds();
    let seq = 0;
    for await (const entry of this.#records()) {
      const id = idOf(entry);
      const found = await comparison.find(entry);
      if (found === "withheld") continue;
      if (found === "other") throw writtenTo(chatId);
      const isNew = found === "new";
      seq = isNew ? Math.max(seq, comparison.seq) + 1 : found.seq;
      yield { entry, record: { ...entry.record, id }, seq, isNew };
    }
  }

  #noteOf(entry: RecordEntry, id: string): void {
    if (id !== entry.record.id && id === entry.otherId) {
      this.#notes.add(
        isForged(entry.kind, entry.record.id)
          ? "an id that only our own records have is replaced"
          : "an id that was there before is replaced",
      );
    }
    this.#notes.add(...entry.notes);
  }

  /** Whether the chat has what was too large in the head lines: it is kept once, as it first was. */
  async #hasLeft({ chatId, isNew, isKnown }: Target): Promise<boolean> {
    if (isNew || isKnown) return isKnown;
    return (await this.#options.chats.log.ports.logs.find(chatId, leftOverId)) !== undefined;
  }

  #count({ entry, record, isNew }: Placed): void {
    if (entry.kind === "foreign") this.#foreign++;
    if (entry.kind === "control" && isErased(record)) this.#erased++;
    if (entry.kind !== "message" || this.#scan.takenBack.has(record.id)) return;
    this.#messages++;
    if ((entry.oldSeq ?? 1) <= this.#scan.head.clearSeq) this.#cleared++;
    const { role, content, timestamp, hidden } = record;
    if (typeof timestamp === "string" && timestamp !== "") this.#lastAt = timestamp;
    if (!isNew) return;
    this.#added++;
    if (this.#title !== undefined || role !== "user" || hidden === true) return;
    const text = titleFrom(String(content));
    if (text !== "") this.#title = { text, of: record.id };
  }

  /** @param isWhole nothing of the source was left out, so that its head repeats nothing of that. */
  #head(isWhole: boolean): { readonly head: ChatHead; readonly left: JsonObject } {
    const counted: Counted = {
      messages: this.#messages,
      cleared: this.#cleared,
      erased: this.#erased,
      lastSeq: this.#seq,
      lastAt: this.#lastAt,
      title: this.#title?.text ?? "",
      titleOf: this.#title?.of,
      seqOf: (old) => this.#seqs.of(old),
    };
    const { head } = this.#scan;
    return isWhole ? head.head(counted, this.#notes) : { head: head.bareHead(counted), left: {} };
  }

  /** The head of a chat to which a source has added records. */
  #grownHead(before: ChatHead, head: ChatHead): ChatHead {
    const { session } = before;
    if (this.#form === "own") return { ...head, session: head.session ?? session };
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

  /** What the chat would hold after a trial run. */
  async *#wouldHold({ chatId, stored, withheld }: Target): AsyncGenerator<StoredRecord> {
    yield* stored.records();
    const comparison = new Comparison(stored, withheld);
    try {
      for await (const { record, isNew, seq } of this.#placed(chatId, comparison)) {
        if (isNew) yield { ...record, seq };
      }
    } finally {
      await comparison.end();
    }
  }

  /** Reports what cannot be used, and has it kept for the chat that it belongs to. */
  async #setAside(chatId: string, isKept: boolean): Promise<void> {
    const { source, unreadable, digest } = this.#scan;
    if (unreadable === 0) return;
    const options = { form: this.#form, chatId, zone: this.#options.zone };
    const keep = isKept && !this.#options.dryRun ? this.#options.keep : undefined;
    let piece: { -readonly [Field in keyof SetAside]: SetAside[Field] } | undefined;
    for await (const entry of readEntries(sameBytes(this.#scan), options)) {
      if (entry.kind !== "unreadable") continue;
      const { line, offset, bytes, reason, continues } = entry;
      if (piece === undefined || !continues) {
        piece = { source: source.name, line, offset, bytes: bytes.length, reason };
        this.#report.setAside(piece);
      } else piece.bytes += bytes.length;
      await keep?.(bytes, { chatId, digest: digest.slice(0, 12), piece });
    }
  }
}

/** So many different chats of one name are looked through. */
const maxNamesakes = 100;

const nameOf = (chatId: string, n: number) => (n === 1 ? chatId : `${chatId}~${n}`);

const nothing: Stored = {
  clearSeq: 0,
  async *records() {
    // a chat that does not exist has none
  },
};

const placeholder = { id: placeholderId, _type: "metadata", kind: "metadata", metadata: {} };

function corrupt(reason: string): ThroughlineError {
  return new ThroughlineError(reason, { code: "THROUGHLINE_CORRUPT" });
}

function writtenTo(chatId: string): ThroughlineError {
  const name = JSON.stringify(chatId);
  return new ThroughlineError(
    `something else was written to ${name}: import this source into a new chat with --into NEW`,
    { code: "THROUGHLINE_CONFLICT" },
  );
}

/** What is no control record must not have the id of one. */
const isForged = (kind: RecordEntry["kind"], id: string) => kind !== "control" && isControlId(id);

/** Ids in files of ours may come twice; those that are made for a place do not. */
function freeIds(): (entry: RecordEntry) => string {
  const seen = new Set<string>();
  return ({ kind, record, otherId }) => {
    if (record.id === otherId) return otherId;
    // What had the id of a mark before gets another one, so that the mark can have it.
    const id = (kind === "control" ? markId(record, seen) : undefined) ?? record.id;
    if (seen.has(id) || isForged(kind, id)) return otherId;
    seen.add(id);
    return id;
  };
}
