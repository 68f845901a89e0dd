import { createHash } from "node:crypto";
import type { MessageInput } from "../core/chat/message-input.ts";
import { isoTime } from "../core/clock.ts";
import { invalid } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import { type DocumentStore, reservedDocumentNames } from "../core/storage/document-store.ts";
import {
  attempt,
  type ImportOptions,
  type ImportReport,
  newReport,
  type Source,
} from "./import.ts";
import { readJsonSource } from "./read-source.ts";

/** What a companion's code knows of the document in which it keeps itself. */
export interface CompanionReader {
  /** The document's key in the collection `session`. */
  readonly documentKey: string;
  /**
   * @returns the document, or why it cannot be used.
   * @throws ThroughlineError `THROUGHLINE_NEWER_FORMAT`.
   */
  readonly readCompanionDocument: (
    value: unknown,
  ) =>
    | { readonly document: { readonly conversation: readonly ConversationMessage[] } }
    | { readonly problem: string };
}

interface ConversationMessage {
  readonly role: "USER" | "ASSISTANT";
  readonly text: string;
  /** Milliseconds since 1970; `undefined` when it is not known. */
  readonly at: number | undefined;
}

interface ReachyImportOptions extends ImportOptions {
  /** Where the companion document lies. */
  readonly documents: DocumentStore;
  readonly companion: CompanionReader;
  /** The chat that its conversation becomes part of. */
  readonly chatId: string;
}

/**
 * Imports the `session.json` of a companion: what it felt, whom it saw and how often it ran become this
 * companion's, unless it has a life of its own already; its conversation is added to a chat. A repeated
 * import changes nothing.
 *
 * @throws ThroughlineError what storing rejects with.
 */
export async function importCompanion(
  source: Source,
  options: ReachyImportOptions,
): Promise<ImportReport> {
  const report = newReport();
  const { chats, chatId, force, dryRun, companion } = options;
  await attempt(report, source.name, async () => {
    const value = await readJsonSource(source);
    const found = companion.readCompanionDocument(value);
    if ("problem" in found) {
      throw invalid(`it is no session of a companion, version 1: ${found.problem}`);
    }
    const notes = [await takeOver(value, options)];
    const messages = messagesOf(found.document.conversation);
    const forgottenAt = force ? undefined : await chats.forgottenAt(chatId);
    const about = { chat_id: chatId, source: source.name };
    if (forgottenAt !== undefined) {
      report.refused.push({ ...about, forgotten_at: forgottenAt, messages: messages.length });
    }
    const wanted = forgottenAt === undefined ? messages : [];
    const ids = wanted.map(({ id }) => String(id));
    // Also what was erased is there: its id says so.
    const there = await chats.logs.findAll(chatId, ids);
    const fresh = wanted.filter(({ id }) => !there.has(String(id)));
    if (!dryRun && fresh.length > 0) await chats.append(chatId, fresh, { heard: false });
    const skipped = wanted.length - fresh.length;
    report.chats.push({ ...about, messages: fresh.length, skipped, foreign: 0, notes });
  });
  return report;
}

/** @returns what became of the document, for the report. */
async function takeOver(
  value: object,
  { documents, companion: { documentKey }, dryRun }: ReachyImportOptions,
): Promise<string> {
  if ((await documents.read(documentKey)) !== undefined) {
    return "this companion has a life of its own: what it feels and whom it saw stay";
  }
  if (!dryRun) await documents.write(documentKey, storable(value), { expectedRevision: 0 });
  return "what it felt and whom it saw is this companion's now";
}

/** What no JSON holds becomes null, as the reader of the document takes it anyway. */
function storable(value: object): JsonObject {
  const copy = JSON.parse(JSON.stringify(value)) as JsonObject;
  const reserved: readonly string[] = reservedDocumentNames;
  return Object.fromEntries(Object.entries(copy).filter(([name]) => !reserved.includes(name)));
}

/**
 * With ids that follow from what was said, so that importing twice is importing once: of several that
 * say the same at the same time each has its own, by how many were before it.
 */
function messagesOf(conversation: readonly ConversationMessage[]): readonly MessageInput[] {
  const counts = new Map<string, number>();
  return conversation.map((message) => {
    const said = JSON.stringify([message.role, message.text, message.at ?? null]);
    const before = counts.get(said) ?? 0;
    counts.set(said, before + 1);
    return messageOf(message, before === 0 ? said : JSON.stringify([said, before]));
  });
}

function messageOf({ role, text, at }: ConversationMessage, unique: string): MessageInput {
  const digest = createHash("sha256").update(unique).digest("hex");
  const message: MessageInput = {
    id: `reachy:${digest.slice(0, 24)}`,
    role: role === "USER" ? "user" : "assistant",
    content: text,
  };
  return at === undefined ? message : { ...message, timestamp: isoTime(at) };
}
