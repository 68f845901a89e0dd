import { type ChatHead, readHead } from "../core/chat/chat-head.ts";
import { checkChatId } from "../core/chat/chat-log.ts";
import type { Chats } from "../core/chat/chats.ts";
import { isMessage } from "../core/chat/message.ts";
import { conflict, corrupt, invalid } from "../core/errors.ts";
import { is, object, type Read, text, whole } from "../core/shape.ts";
import { batchesOf, isErased } from "../core/storage/batch.ts";
import { hashOf } from "../core/storage/file-store.ts";
import type { LogRecord, StoredRecord } from "../core/storage/log-store.ts";
import { AttachmentParts } from "./attachment-parts.ts";
import { type ChatForm, readEntries, type Scan, scan } from "./chat-file.ts";
import {
  attempt,
  type ImportOptions,
  type ImportReport,
  newReport,
  type SetAside,
  type Source,
  setAside,
} from "./import.ts";
import { nanobotChat } from "./nanobot-chat.ts";
import { ownChat } from "./own-chat.ts";
import { isGrown, sameBytes } from "./read-source.ts";

const forms = { seed: nanobotChat, own: ownChat } as const satisfies Record<string, ChatForm>;
export type Form = keyof typeof forms;

/** The field of a chat's head that says what it was imported from. */
export const importedField = "imported";

const count = whole(0, Number.MAX_SAFE_INTEGER);

const importedShape = object({
  /** SHA-256 in hex of the first `bytes` of the source. */
  digest: text(),
  bytes: count,
  /** Records of the source that are stored. */
  records: count,
  /** The chat's last number after the import. */
  seq: count,
});

/** The part of its source that a chat has. */
type Imported = Read<typeof importedShape>;

/** Of a chat that was not imported. */
const ofNoSource: Imported = { digest: "", bytes: 0, records: 0, seq: -1 };

/** An append has at least one record: this one is that of a source that has no message, or no more of them. */
const placeholder = { id: "import:empty", _type: "metadata", kind: "metadata", metadata: {} };

/**
 * Imports files of which each is a chat: nanobot's JSONL, or with the form `"own"` what
 * `exportChats` wrote. Sources are read and never changed. A chat remembers length and digest of its
 * source: importing an unchanged one again adds nothing; one of the seed that has grown adds the rest, if
 * nothing else was written to its chat. Every other source of an existing chat is reported as failed. Of
 * two sources that name the same chat the one that was changed last comes first.
 *
 * A chat that was forgotten here comes back only with `force`.
 *
 * @throws ThroughlineError what storing rejects with. What is wrong with a source is in the report.
 */
export async function importChats(
  sources: Iterable<Source>,
  options: ImportOptions,
  form: Form = "seed",
): Promise<ImportReport> {
  const report = newReport();
  const all = [...sources];
  if (options.into !== undefined && all.length > 1) {
    throw invalid("only a source of one chat can be imported into a chat of another name");
  }
  // The newest of a chat comes first, and so gets its name.
  const age = ({ modifiedAt = 0 }: Source) => -modifiedAt;
  all.sort((a, b) => age(a) - age(b) || (a.name < b.name ? -1 : 1));
  for (const source of all) {
    await attempt(report, source.name, () => importChat(source, form, options, report));
  }
  return report;
}

async function importChat(
  source: Source,
  form: Form,
  options: ImportOptions,
  report: ImportReport,
): Promise<void> {
  const { chats, zone, into, force, dryRun } = options;
  const found = await scan(source, forms[form], zone);
  const chatId = into ?? found.chatId;
  checkChatId(chatId);
  const has = dryRun ? undefined : await importedInto(chats, chatId);
  // One damaged line of ours refuses the file, and all after it are out of place.
  const most = form === "own" ? Math.min(1, found.unreadable) : found.unreadable;
  setAside(report, found.setAside.slice(0, most), most);
  checkIsChat(found);
  if (form === "own") checkIsWhole(found);
  if (found.bytes === 0) found.notes.add("the file is empty");
  const isKnown = has?.digest === found.digest;
  const isFree = isKnown || force;
  const forgotten_at = isFree ? undefined : await forgottenAt(chats, found.chatId, chatId);
  const { messages, foreign, notes } = found;
  const about = { chat_id: chatId, source: source.name };
  if (forgotten_at !== undefined) {
    report.refused.push({ ...about, forgotten_at, messages });
    return;
  }
  const isThere = has !== undefined && !isKnown;
  if (isThere && !(form === "seed" && (await goesOn(chats, chatId, has, found)))) {
    const wayOut = "import it into a new chat with --into NEW";
    throw conflict(
      `the chat ${JSON.stringify(chatId)} is here, and not only of this source: ${wayOut}`,
    );
  }
  const head = forms[form].head(found.fields, found, notes, zone);
  let skipped = isKnown ? messages : 0;
  if (!isKnown && !dryRun) skipped = await write(found, head, { form, chatId, has, options });
  report.foreign += foreign;
  const added = messages - skipped;
  report.chats.push({ ...about, messages: added, skipped, foreign, notes: notes.list() });
}

/** What an existing chat has of the source that it was imported from. */
async function importedInto(chats: Chats, chatId: string): Promise<Imported | undefined> {
  const { head } = await chats.state(chatId);
  return head && (readImported(head) ?? ofNoSource);
}

function readImported({ [importedField]: found }: ChatHead): Imported | undefined {
  return is(importedShape, found) ? found : undefined;
}

function checkIsChat({ records, messages, heads, unreadable }: Scan): void {
  if (records === 0 && heads === 0 && unreadable > 0) throw corrupt("nothing in it can be read");
  if (records > 0 && messages === 0 && heads === 0) {
    throw invalid("it is no chat of nanobot: no line of it has a role and a content");
  }
}

/** What a file of ours lacks may be a removal of what is there. */
function checkIsWhole({ bytes, setAside: [first], hasEnd }: Scan): void {
  const way = "--from nanobot takes the messages that can be read";
  if (first !== undefined) {
    throw corrupt(`its line ${first.line} is damaged: ${first.reason}. ${way}`);
  }
  if (bytes > 0 && !hasEnd) throw corrupt(`its end is missing. ${way}`);
}

/** When the chat that the source names, or the one that it goes to, was forgotten. */
async function forgottenAt(chats: Chats, key: string, chatId: string) {
  return (await chats.forgottenAt(key)) ?? (await chats.forgottenAt(chatId));
}

/** Whether the source goes on where a chat ends that has all the rest, and nothing else. */
async function goesOn(chats: Chats, chatId: string, has: Imported, found: Scan) {
  const { source, setAside, unreadable } = found;
  // Of a line over the seam that cannot be used the part before may have been a record.
  const isOver = ({ offset, bytes }: SetAside) => offset < has.bytes && offset + bytes > has.bytes;
  if (setAside.some(isOver) || unreadable > setAside.length) return false;
  if ((await chats.state(chatId)).seq !== has.seq || !(await isGrown(source, has))) return false;
  // What was erased here may be repeated in the rest.
  for await (const record of chats.logs.read(chatId)) if (isErased(record)) return false;
  return true;
}

interface Target {
  readonly form: Form;
  readonly chatId: string;
  /** What the chat has of the source; absent: the chat is new. */
  readonly has: Imported | undefined;
  readonly options: ImportOptions;
}

/**
 * Writes a new chat, or adds records to the end of one that exists, in appends of bounded size.
 *
 * A new chat is marked unfinished until its last append is stored, so a crash or an error
 * leaves nothing of it. An existing chat is complete after every append: a crash in between looks
 * like a source with fewer records.
 *
 * @returns how many messages of the source were here.
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: a new chat exists already, or something was written.
 */
async function write(found: Scan, fields: ChatHead, target: Target): Promise<number> {
  const { form, chatId, has, options } = target;
  const { chats, zone } = options;
  const { digest, bytes, records } = found;
  let skipped = 0;
  async function* fresh(): AsyncGenerator<LogRecord> {
    const parts = new AttachmentParts();
    let place = 0;
    const entries = readEntries(sameBytes(found), forms[form], zone);
    for await (const [, entry] of entries) {
      const file = entry.kind === "attachment" ? parts.add(entry.part) : undefined;
      if (file && found.attached.has(hashOf(file))) await chats.files.put(chatId, file);
      if (!("record" in entry)) continue;
      if (++place <= (has?.records ?? 0)) {
        if (entry.kind === "message") skipped++;
        continue;
      }
      if (entry.file !== undefined) await chats.files.put(chatId, entry.file);
      yield entry.record;
    }
    if (place > (has?.records ?? 0)) return;
    const { metadata, updated_at: timestamp } = fields;
    yield has === undefined
      ? { ...placeholder, timestamp }
      : { ...placeholder, id: `import:${bytes}`, metadata, timestamp };
  }
  const { logs } = chats;
  await chats.exclusively(chatId, async () => {
    const tail = has && (await logs.tail(chatId, 0));
    const before = tail && readHead(tail.head);
    const { title_of: _, ...others }: Partial<ChatHead> = before ?? {};
    let seq = tail?.seq ?? 0;
    if (has !== undefined && seq !== has.seq) {
      throw conflict("something was written to the chat during the import: run it again");
    }
    let head: ChatHead = before ?? { ...readHead({}), unfinished: true };
    try {
      for await (const { records: batch, isLast } of batchesOf(fresh())) {
        const imported = { digest, bytes, records, seq: seq + batch.length };
        if (isLast) head = { ...others, ...fields, [importedField]: imported };
        else if (before !== undefined) head = counting(head, batch, seq);
        seq = await logs.append(chatId, batch, { expectedSeq: seq, head });
      }
    } catch (error) {
      // Only if the first append was stored is the chat ours to delete.
      if (has === undefined && seq > 0) await logs.delete(chatId);
      // Nor are its attachments, unless there is no such chat.
      const isOurs = has === undefined && (await logs.tail(chatId, 0)) === undefined;
      if (isOurs) await chats.files.delete(chatId);
      throw error;
    } finally {
      chats.forgetState(chatId);
    }
  });
  return skipped;
}

/** The head of a chat that has more of its source: an import that is cut off continues from there. */
function counting(head: ChatHead, records: readonly LogRecord[], seq: number): ChatHead {
  const messages = records.filter((record) => isMessage(record as StoredRecord)).length;
  const has = readImported(head) ?? ofNoSource;
  const imported = {
    ...has,
    records: has.records + records.length,
    seq: seq + records.length,
  };
  const message_count = head.message_count + messages;
  return { ...head, message_count, [importedField]: imported };
}
