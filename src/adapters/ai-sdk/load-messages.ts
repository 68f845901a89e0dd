import { safeValidateUIMessages } from "ai";
import { filesInPlace } from "../../core/chat/exact.ts";
import type { StoredMessage } from "../../core/chat/message.ts";
import { allMessages } from "../../core/chat/message-page.ts";
import { type PairedCall, pairToolCalls } from "../../core/chat/model-row.ts";
import { besideWords, waitingInput } from "../../core/chat/waiting.ts";
import type { JsonObject } from "../../core/json.ts";
import { aThroughline, checkArgument } from "../../core/options.ts";
import type { Throughline } from "../../core/throughline.ts";
import { noResult, type Part, plainParts, type UIChatMessage } from "./ui-message.ts";
import { idOf, isPiece, readPiece, UiRecords } from "./ui-records.ts";

/** A UI message of a chat, and what the log has of it. */
export interface Shown {
  readonly message: UIChatMessage;
  /** The user message that opened its turn. */
  readonly turn: string | undefined;
  /** Its records, oldest first. */
  readonly stored: readonly StoredMessage[];
  /** Of an answer that can be continued: what the log has of it. */
  readonly records: UiRecords | undefined;
  /** Puts the files of a person's message in their places. */
  readonly whole: (message: UIChatMessage) => Promise<UIChatMessage>;
}

/**
 * The messages of a chat for `useChat`: all since it was last cleared, also what was said there in another way, and last
 * those that wait for their turns. Each is
 * checked alone, and one that the SDK does not accept is shown as its text. A chat that was never begun has none.
 * What was erased or taken back is left out.
 */
export async function loadMessages(
  throughline: Pick<Throughline, "chats">,
  chatId: string,
): Promise<UIChatMessage[]> {
  checkArgument(throughline, "throughline", aThroughline);
  const waiting = await waitingIn(throughline.chats, chatId);
  const all = await shownIn(throughline, chatId, waiting);
  return Promise.all(all.map(({ message, whole }) => whole(message)));
}

/**
 * The same with the names of files in their places, and with what the log has of each.
 *
 * @param waiting is shown last, as far as it has not begun since.
 */
export async function shownIn(
  throughline: Pick<Throughline, "chats">,
  chatId: string,
  waiting: ReadonlyMap<string, StoredMessage> = new Map(),
): Promise<readonly Shown[]> {
  const { chats } = throughline;
  const begun = await allMessages(chats, chatId);
  const ids = new Set(begun.map(({ id }) => id));
  const calls = pairToolCalls(begun);
  const byId = new Map<string, Made>();
  const redacted = new Set<string>();
  for (const record of [...begun, ...[...waiting.values()].filter(({ id }) => !ids.has(id))]) {
    if (record.redacted) redacted.add(record.id.replace(/~\d+$/, "")).add(record.id);
    if (record.redacted || !isShown(record)) continue;
    const id = idOf(record);
    const piece = await readPiece(chats, chatId, record);
    if (record.role === "user") {
      const { parts = plainParts("user", record.content), metadata } = piece;
      // An edited one is the end of what came after the first.
      if (byId.has(id)) {
        const shownIds = [...byId.keys()];
        for (const later of shownIds.slice(shownIds.indexOf(id))) byId.delete(later);
      }
      byId.set(id, { stored: [record], parts, metadata, records: undefined });
    } else {
      const known = byId.get(id);
      const records = known?.records ?? new UiRecords(id);
      records.read(record, piece);
      const foreign = isPiece(record) ? [] : callParts(calls.get(record) ?? []);
      const { parts, metadata } = records.message;
      const all = [...(known?.stored ?? []), record];
      const own = foreign.length === 0 ? records : undefined;
      byId.set(id, { stored: all, parts: [...parts, ...foreign], metadata, records: own });
    }
  }
  for (const id of redacted) byId.delete(id);
  return Promise.all(Array.from(byId, (each) => shown(throughline, chatId, each)));
}

/** The messages of a chat that wait for their turns, by the ids of their records. */
export async function waitingIn(
  chats: Throughline["chats"],
  chatId: string,
): Promise<ReadonlyMap<string, StoredMessage>> {
  const { head } = await chats.state(chatId);
  const waiting = new Map<string, StoredMessage>();
  for (const id of head?.pending ?? []) {
    const waited = await waitingInput(chats.logs, chatId, id);
    if (typeof waited?.["content"] !== "string") continue; // erased
    const { seq, content, timestamp } = waited;
    const said = { id, seq, role: "user", content, timestamp: String(timestamp) } as const;
    waiting.set(id, { ...said, ...besideWords(waited) } as StoredMessage);
  }
  return waiting;
}

interface Made {
  readonly stored: readonly StoredMessage[];
  readonly parts: readonly Part[];
  readonly metadata: JsonObject[string] | undefined;
  readonly records: UiRecords | undefined;
}

async function shown(
  { chats: { files } }: Pick<Throughline, "chats">,
  chatId: string,
  [id, { stored, parts, metadata, records }]: readonly [string, Made],
): Promise<Shown> {
  const [first] = stored;
  const role = first?.role === "user" ? "user" : "assistant";
  const message: UIChatMessage = { id, role, parts: [...parts] };
  if (metadata !== undefined) message.metadata = metadata;
  const valid = await isValid(message);
  const texts = stored.filter((record) => record.role === role).map(({ content }) => content);
  const text = texts.filter((each) => each !== "").join("\n\n");
  return {
    message: valid ? message : { id, role, parts: [{ type: "text", text }] },
    turn: first?.turn,
    stored,
    records,
    whole: async (said) =>
      first?.role === "user" ? filesInPlace(files, chatId, first, said) : said,
  };
}

async function isValid(message: UIChatMessage): Promise<boolean> {
  return (await safeValidateUIMessages({ messages: [message] })).success;
}

/** Not what only we say, what only models get, and what came after its period had ended. */
function isShown(record: StoredMessage): boolean {
  if (record.replaced || record["generation"] !== undefined) return false;
  if (isPiece(record)) return true;
  return !record.hidden && (record.role === "user" || record.role === "assistant");
}

/** The calls of an answer that was made in another way. */
function callParts(calls: readonly PairedCall[]): readonly Part[] {
  return calls.map(({ id = "", name, arguments: text, result }): Part => {
    const input = JSON.parse(text) as JsonObject;
    const call = { type: "dynamic-tool", toolCallId: id, toolName: name, input };
    if (result === undefined) return { ...call, state: "output-error", errorText: noResult };
    const { content, is_error: isError } = result;
    if (isError) return { ...call, state: "output-error", errorText: content };
    return { ...call, state: "output-available", output: content };
  });
}
