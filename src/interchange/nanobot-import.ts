import type { ChatHead } from "../core/chat/chat-head.ts";
import { titleFrom } from "../core/chat/chat-head.ts";
import { isControlId } from "../core/chat/control-ids.ts";
import { foreignRecord, leftOverId } from "../core/chat/foreign-record.ts";
import { instantOf } from "../core/chat/stamp.ts";
import { isThroughlineError, ThroughlineError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import { isErased } from "../core/storage/batch.ts";
import type { StoredRecord } from "../core/storage/log-store.ts";
import { extendChat, type Fill, writeChat } from "./chat-writer.ts";
import type { Counted, Form } from "./head-lines.ts";
import { grownHead, Hidden, headWithout, leftOut } from "./hidden.ts";
import type { ImportOptions } from "./import-options.ts";
import { readEntries } from "./nanobot-file.ts";
import { markId, type OwnRecord, withSeqs } from "./own-record.ts";
import { findPlace, namesakes, type Place, type Planned, type RecordEntry } from "./place.ts";
import { type ImportReport, type Notes, ReportDraft, type SetAside } from "./report.ts";
import { type Scan, sameBytes, scan } from "./scan.ts";
import { SeqMap } from "./seq-map.ts";
import type { Source } from "./source.ts";
import { placeholderId, StoredWalk } from "./stored-walk.ts";

/**
 * Imports files of which each is a chat: nanobot's JSONL, or with the form `"own"` what
 * `exportChats` wrote. Sources are read and never changed; a repeated import adds nothing; a source
 * that has grown adds what is new, after what was said here meanwhile. Of two that name the same chat
 * the newer one is that chat, the other a second one: `id~2`.
 *
 * What was redacted, erased or cleared here does not come back, in no chat of that name, but by
 * `force`: of a second one it is left out as if erased, and the report says so.
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
    const { name } = source;
    await attempt(report, name, async () => {
      const { chatId, newestAt } = await scan(source, form, options.zone);
      found.push({ source, chatId, at: newestAt });
    });
  }
  // The newest of a chat comes first, and so gets its name.
  found.sort((a, b) => b.at - a.at || (a.source.name < b.source.name ? -1 : 1));
  const seen = new Map<string, string>();
  const planned: Planned = new Map();
  for (const { source, chatId } of found) {
    const newer = seen.get(chatId);
    if (newer === undefined) seen.set(chatId, source.name);
    await attempt(report, source.name, async () => {
      const scanned = await scan(source, form, options.zone);
      const chat = new ChatImport(scanned, form, options, report);
      await chat.run(newer !== undefined, planned);
    });
  }
  return report.done();
}

/** What is wrong with one source stops no other. */
async function attempt(report: ReportDraft, source: string, work: () => Promise<void>) {
  try {
    await work();
  } catch (error) {
    const codes = ["THROUGHLINE_INVALID", "THROUGHLINE_TOO_LARGE", "THROUGHLINE_CONFLICT"] as const;
    const isOfSource = codes.some((code) => isThroughlineError(error, code));
    const isOfSystem = error instanceof Error && "syscall" in error;
    if (!(isOfSource || isOfSystem)) throw error;
    report.failed.push({ source, reason: (error as Error).message });
  }
}

/** A record of a source, and what becomes of it. */
interface Placed {
  readonly entry: RecordEntry;
  /** As it is stored, or would be. */
  readonly record: OwnRecord;
  readonly seq: number;
  readonly isNew: boolean;
  /** Hidden here. */
  readonly isHidden: boolean;
  /** Of this it is no message here any more: it was erased, or is left out. */
  readonly isGone: boolean;
}

class ChatImport {
  readonly #scan: Scan;
  readonly #form: Form;
  readonly #options: ImportOptions;
  readonly #report: ReportDraft;
  readonly #notes: Notes;
  /** Set where a person had the chat forgotten: only what is younger comes back. */
  #after: string | undefined;
  #seq = 0;
  #messages = 0;
  #erased = 0;
  #foreign = 0;
  /** Messages that were stored, or would be. */
  #added = 0;
  #skipped = 0;
  #title: { readonly text: string; readonly of: string } | undefined;
  #lastAt = "";
  /** What is hidden here of what the source says: ids, and how many messages were before each. */
  readonly #hiddenIds = new Set<string>();
  readonly #goneAt: number[] = [];
  readonly #seqs = new SeqMap();

  constructor(scanned: Scan, form: Form, options: ImportOptions, report: ReportDraft) {
    this.#scan = scanned;
    this.#form = form;
    this.#options = options;
    this.#report = report;
    this.#notes = scanned.notes;
  }

  /** @param planned what a trial run would have stored before; this adds what it would store. */
  async run(isOlder: boolean, planned: Planned): Promise<void> {
    const { chatId, source, unreadable, records, head, bytes, hasEnd } = this.#scan;
    const { chats, dryRun, force } = this.#options;
    this.#after = force ? undefined : await chats.forgottenAt(chatId);
    const named = { chatId, form: this.#form };
    const find = () => findPlace(chats, named, () => this.#records(), planned);
    let place = await find();
    if (place.chatId !== chatId && !force) {
      this.#after = (await chats.forgottenAt(place.chatId)) ?? this.#after;
      if (this.#after !== undefined) place = await find();
    }
    if (await this.#isRefused(place)) return;
    if (records === 0 && head.count === 0 && unreadable > 0) {
      // No chat is made of it: what it held goes with the one that it names.
      await this.#setAside(chatId, true);
      this.#report.failed.push({ source: source.name, reason: "nothing in it can be read" });
      return;
    }
    if (bytes === 0) this.#notes.add("the file is empty");
    else if (this.#form === "own" && !hasEnd) {
      if (!force) {
        // What is missing may be a redaction of what is there.
        const reason = "its end is missing: --force takes what is there";
        this.#report.failed.push({ source: source.name, reason });
        return;
      }
      this.#notes.add("its end is missing");
    }
    if (place.state === "taken") {
      const reason = "there are too many other chats of that name";
      this.#report.failed.push({ source: source.name, reason });
      return;
    }
    if (place.chatId !== chatId) {
      this.#notes.add(
        isOlder
          ? `a newer file is ${chatId}: this one is kept as ${place.chatId}`
          : `another chat is ${chatId}: this one is kept as ${place.chatId}`,
      );
    }
    await this.#setAside(place.chatId, !dryRun && place.state !== "known");
    const hidden = new Hidden();
    if (place.state !== "known" && !force) {
      for await (const stored of namesakes(chats, chatId, place, planned)) await hidden.add(stored);
    }
    const { clear_seq: clearSeq = 0 } = await this.#store(place, hidden);
    if (dryRun && place.state !== "known") {
      planned.set(place.chatId, { records: () => this.#planned(place, hidden), clearSeq });
    }
  }

  /** Everything is there already, is added, or would be. @returns the head that the chat has then. */
  async #store(place: Place, hidden: Hidden): Promise<ChatHead> {
    const fill = async (put: (record: OwnRecord) => Promise<void>, before?: ChatHead) => {
      if (before?.title) this.#title = { text: before.title, of: before.title_of ?? "" };
      const head = await this.#fill(place, hidden, put);
      if (before === undefined || this.#form === "own") return head;
      return grownHead(before, head, { added: this.#added, hasLocal: place.hasLocal });
    };
    const head = await this.#write(place, fill);
    this.#report.chats.push({
      ...{ chat_id: place.chatId, source: this.#scan.source.name },
      ...{ messages: this.#added, skipped: this.#skipped },
      ...{ foreign: this.#foreign, notes: this.#notes.list() },
    });
    return head;
  }

  async #write({ chatId, state }: Place, fill: Fill): Promise<ChatHead> {
    const { chats, dryRun } = this.#options;
    if (!dryRun && state === "grown") return extendChat(chats, chatId, fill);
    if (!dryRun && state === "free") return writeChat(chats, chatId, fill);
    const { head } = await chats.log.state(chatId);
    return fill(async () => undefined, state === "grown" ? head : undefined);
  }

  /** Hands on what is new, and counts everything. */
  async #fill(
    place: Place,
    hidden: Hidden,
    put: (record: OwnRecord) => Promise<void>,
  ): Promise<ChatHead> {
    for await (const placed of this.#placed(place, hidden)) {
      const { entry, seq } = placed;
      this.#noteOf(entry, placed.record.id);
      this.#seq = Math.max(this.#seq, seq);
      // A mark that was made here first stands before what it would follow.
      if (entry.oldSeq !== undefined && seq === this.#seq) this.#seqs.add(entry.oldSeq, seq);
      const record = withSeqs(placed.record, (old) => this.#seqs.of(old));
      this.#count({ ...placed, record });
      if (placed.isNew) await put(record);
    }
    const { head, left } = this.#head();
    // With words of its own, the chat keeps what it says of itself.
    const takesHead = this.#form === "own" || !place.hasLocal;
    if (takesHead && Object.keys(left).length > 0 && !(await this.#hasLeft(place))) {
      this.#foreign++;
      this.#seq++;
      await put(foreignRecord(left, leftOverId) as OwnRecord);
    }
    if (place.state === "free" && this.#seq === 0)
      await put({ ...placeholder, timestamp: head.updated_at });
    const { text: title = "", of } = this.#title ?? {};
    const about = { goneAt: this.#goneAt, ids: this.#hiddenIds };
    return headWithout(head, { ...about, title: { title, ...(of && { title_of: of }) } });
  }

  /** The records of the source, each with what becomes of it. */
  async *#placed(place: Place, hidden: Hidden): AsyncGenerator<Placed> {
    const idOf = freeIds();
    const walk = new StoredWalk(place.stored.records(), this.#form);
    let seq = 0;
    let lowestHidden = Number.POSITIVE_INFINITY;
    try {
      for await (const entry of this.#records()) {
        const there = place.state === "known" ? undefined : await walk.match(entry);
        if (there === "other") throw changed(place.chatId);
        const isNew = there === "new";
        const record = { ...entry.record, id: idOf(entry) };
        seq = Math.max(seq, walk.seq) + (isNew || there === undefined ? 1 : 0);
        const isErasedHere = typeof there === "object" && isErased(there) && !isErased(record);
        const isLeftOut = isNew && (hidden.has(entry) || summarises(record, lowestHidden));
        const isHidden = isErasedHere || isLeftOut || place.marked.has(record.id);
        if (isHidden) lowestHidden = Math.min(lowestHidden, entry.oldSeq ?? seq);
        yield {
          ...{ entry, isNew, isHidden, isGone: isErasedHere || isLeftOut },
          ...{ record: isLeftOut ? leftOut(record.id) : record },
          seq: typeof there === "object" ? there.seq : seq,
        };
      }
    } finally {
      await walk.end();
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

  /** Whether the chat has what of the head lines was too large: once, as it was first. */
  async #hasLeft({ chatId, state }: Place): Promise<boolean> {
    if (state !== "grown") return state === "known";
    return (await this.#options.chats.log.ports.logs.find(chatId, leftOverId)) !== undefined;
  }

  #count({ entry, record, isNew, isHidden, isGone }: Placed): void {
    const isMessage = entry.kind === "message";
    if (isHidden) this.#hiddenIds.add(record.id);
    if (isMessage && isGone) this.#goneAt.push(this.#messages);
    if (isNew && isGone) this.#notes.add("what was redacted, erased or cleared here is left out");
    if (entry.kind === "foreign") this.#foreign++;
    if (entry.kind === "control" && isErased(entry.record)) this.#erased++;
    if (!isMessage) return;
    this.#messages++;
    const { role, content, timestamp, hidden } = entry.record;
    if (typeof timestamp === "string" && timestamp !== "") this.#lastAt = timestamp;
    if (!isNew) this.#skipped++;
    // What was there before has named the chat, or may not.
    if (!isNew || isGone) return;
    this.#added++;
    if (this.#title !== undefined || role !== "user" || hidden === true) return;
    const text = titleFrom(String(content));
    if (text !== "") this.#title = { text, of: record.id };
  }

  #head(): { readonly head: ChatHead; readonly left: JsonObject } {
    const counted: Counted = {
      ...{ messages: this.#messages, erased: this.#erased },
      ...{ lastSeq: this.#seq, lastAt: this.#lastAt },
      title: this.#title?.text ?? "",
      titleOf: this.#title?.of,
      isWhole: this.#hiddenIds.size === 0,
      seqOf: (old) => this.#seqs.of(old),
    };
    if (this.#after === undefined) return this.#scan.head.head(counted, this.#notes);
    // What a head says may be of what was forgotten.
    const { title, titleOf, messages, lastAt } = counted;
    const head = {
      ...{ created_at: "", updated_at: lastAt, metadata: {}, last_consolidated: 0 },
      ...{ message_count: messages, title, ...(titleOf && { title_of: titleOf }), session: null },
    };
    return { head, left: {} };
  }

  async *#records(): AsyncGenerator<RecordEntry> {
    const { chatId } = this.#scan;
    const options = { form: this.#form, chatId, zone: this.#options.zone };
    const forgottenAt = instantOf(this.#after);
    for await (const entry of readEntries(sameBytes(this.#scan), options)) {
      if (entry.kind === "head" || entry.kind === "unreadable") continue;
      const at = instantOf(entry.record["timestamp"]);
      // What has no time of its own may be of the time before.
      if (forgottenAt !== undefined && (at === undefined || at <= forgottenAt)) continue;
      yield entry;
    }
  }

  /** What the chat would hold after a trial run. */
  async *#planned(place: Place, hidden: Hidden): AsyncGenerator<StoredRecord> {
    yield* place.stored.records();
    for await (const { record, isNew, seq } of this.#placed(place, hidden)) {
      if (isNew) yield { ...record, seq };
    }
  }

  async #isRefused(place: Place): Promise<boolean> {
    if (this.#after === undefined) return false;
    let kept = 0;
    let messages = 0;
    for await (const { kind } of this.#records()) {
      kept++;
      if (kind === "message") messages++;
    }
    const { source, records, messages: all } = this.#scan;
    if (kept < records || kept === 0) {
      const about = { chat_id: place.chatId, source: source.name, forgotten_at: this.#after };
      this.#report.refused.push({ ...about, messages: all - messages });
    }
    return kept === 0;
  }

  /**
   * Reports what cannot be used, and has it kept for the chat that it goes with. What was forgotten is
   * not kept either.
   */
  async #setAside(chatId: string, isKept: boolean): Promise<void> {
    const { source, unreadable, digest } = this.#scan;
    if (unreadable === 0) return;
    const options = { form: this.#form, chatId, zone: this.#options.zone };
    const keep = isKept && this.#after === undefined && !this.#options.dryRun;
    let piece: { -readonly [Field in keyof SetAside]: SetAside[Field] } | undefined;
    for await (const entry of readEntries(sameBytes(this.#scan), options)) {
      if (entry.kind !== "unreadable") continue;
      const { line, offset, bytes, reason, continues } = entry;
      if (piece === undefined || !continues) {
        piece = { source: source.name, line, offset, bytes: bytes.length, reason };
        this.#report.setAside(piece);
      } else piece.bytes += bytes.length;
      const about = { chatId, digest: digest.slice(0, 12), piece };
      if (keep) await this.#options.keep?.(bytes, about);
    }
  }
}

const placeholder = { id: placeholderId, _type: "metadata", kind: "metadata", metadata: {} };

function changed(chatId: string): ThroughlineError {
  const message = `${JSON.stringify(chatId)} changed while it was imported into`;
  return new ThroughlineError(message, { code: "THROUGHLINE_CONFLICT" });
}

/** Whether a record is a summary that may repeat what was said in this record. */
function summarises(record: OwnRecord, seq: number): boolean {
  const isSummary = record["_type"] === "metadata" && record["kind"] === "compaction";
  return isSummary && Number(record["up_to_seq"]) >= seq;
}

/** What is no control record must not have the id of one. */
const isForged = (kind: RecordEntry["kind"], id: string) => kind !== "control" && isControlId(id);

/** Ids in files of ours may come twice; those that are made for a place do not. */
function freeIds(): (entry: RecordEntry) => string {
  const seen = new Set<string>();
  return ({ kind, record, otherId }) => {
    if (record.id === otherId) return otherId;
    // What had the id of a mark before gets another one, so that the mark can have it.
    const id = (kind === "control" ? markId(record) : undefined) ?? record.id;
    if (seen.has(id) || isForged(kind, id)) return otherId;
    seen.add(id);
    return id;
  };
}
