import type { Chats } from "../core/chat/chats.ts";
import { renderChat } from "../core/chat/render-chat.ts";
import { toFullJsonl } from "../core/chat/render-jsonl.ts";
import { isJsonObject } from "../core/json.ts";
import { rows, type StoredRecord } from "../core/storage/log-store.ts";
import { importedField } from "./chat-import.ts";
import { ductorField } from "./ductor-import.ts";
import { ExportNames } from "./file-names.ts";
import { toDuctor } from "./legacy.ts";

/**
 * `"throughline"` keeps everything, what is hidden too; the others what their readers know, without
 * what was cleared.
 */
export const exportFormats = ["nanobot", "ductor", "throughline"] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** A file to write, in bounded memory: `pieces` is read once. */
interface ExportFile {
  readonly name: string;
  /** Absent for a file of all chats. */
  readonly chatId?: string;
  readonly pieces: AsyncIterable<string>;
}

export interface ExportOptions {
  readonly format: ExportFormat;
  /** One chat instead of all. */
  readonly chatId?: string | undefined;
  /** Called for a chat that cannot be read and is left out of a file of all chats. Default: it fails. */
  readonly onUnreadable?: ((chatId: string, error: unknown) => Promise<void>) | undefined;
}

/**
 * The files that an export is made of: one for each chat, or for ductor one of all sessions. Write a
 * file before asking for the next one. What is said during the export may be missing.
 *
 * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: there is no such chat.
 */
export async function* exportChats(
  chats: Chats,
  options: ExportOptions,
): AsyncGenerator<ExportFile> {
  const { format, chatId: only } = options;
  if (only !== undefined) await chats.existing(only);
  if (format === "ductor") {
    yield { name: "sessions.json", pieces: ductorFile(chats, options) };
    return;
  }
  const names = new ExportNames();
  for await (const chatId of chatIds(chats, only)) {
    const pieces = format === "throughline" ? fullFile(chats, chatId) : seedFile(chats, chatId);
    yield { name: names.of(chatId), chatId, pieces };
  }
}

async function* chatIds({ logs }: Chats, only: string | undefined): AsyncGenerator<string> {
  if (only !== undefined) yield only;
  else for await (const { key } of rows(logs)) yield key;
}

async function* seedFile(chats: Chats, chatId: string): AsyncGenerator<string> {
  yield* await renderChat(chats, chatId, "jsonl", "UTC");
}

async function* fullFile(chats: Chats, chatId: string): AsyncGenerator<string> {
  const { head, seq } = await chats.existing(chatId);
  const { [importedField]: _, ...full } = head;
  yield* toFullJsonl(chatId, full, upTo(seq, chats.records(chatId)), chats.files);
}

/** Leaves out what was said after the head was read. */
async function* upTo(seq: number, records: AsyncIterable<StoredRecord>) {
  for await (const record of records) {
    if (record.seq > seq) return;
    yield record;
  }
}

async function* ductorFile(
  chats: Chats,
  { chatId: only, onUnreadable }: ExportOptions,
): AsyncGenerator<string> {
  let before = "{";
  for await (const chatId of chatIds(chats, only)) {
    const state = await chats.existing(chatId).catch(async (error: unknown) => {
      if (onUnreadable === undefined) throw error;
      await onUnreadable(chatId, error);
      return undefined;
    });
    if (state === undefined) continue;
    const { head } = state;
    if (head.session === null) continue;
    const unknown = head[ductorField];
    const { key, entry } = toDuctor(chatId, head.session, isJsonObject(unknown) ? unknown : {});
    yield `${before}\n  ${JSON.stringify(key)}: ${JSON.stringify(entry)}`;
    before = ",";
  }
  yield before === "{" ? "{}\n" : "\n}\n";
}
