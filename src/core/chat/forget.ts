// Forgetting a chat: its log, its files and what others hold of it; and finishing what a crash cut short.
import { isoTime } from "../clock.ts";
import { errorName } from "../errors.ts";
import { type LogStore, rows } from "../storage/log-store.ts";
import type { ChatLog } from "./chat-log.ts";
import { isMessage } from "./message.ts";
import { attachmentsPlace, hashOf, type Removed } from "./tombstones.ts";
import type { ChatState } from "./transaction.ts";

/** What forgetting a chat removed, and from where. */
export interface ForgetReceipt {
  readonly chat_id: string;
  readonly at: string;
  readonly removed: readonly { readonly place: string; readonly count: number }[];
  /** Places that hold something of this chat and could not be reached. */
  readonly unreachable: readonly string[];
  /** Chats that hold messages copied from this one: its forks, and theirs. They stay until they are forgotten too. */
  readonly forks: readonly string[];
}

/** What erasing a message reached. */
export interface RemovalReceipt {
  readonly chat_id: string;
  readonly message_id: string;
  /** Other chats that held the same message, and from which it was removed too: see `copiesOf`. */
  readonly copies: readonly string[];
  readonly removed: readonly { readonly place: string; readonly count: number }[];
  /** Places that may still hold it. The same call again tries them again. */
  readonly unreachable: readonly string[];
}

/** The same places of several chats together. */
export function summed(rows: readonly Removed[]): Pick<ForgetReceipt, "removed" | "unreachable"> {
  const counts = new Map<string, number>();
  const unreachable = new Set<string>();
  for (const each of rows) {
    if ("place" in each) counts.set(each.place, (counts.get(each.place) ?? 0) + each.count);
    else unreachable.add(each.unreachable);
  }
  const removed = [...counts].map(([place, count]) => ({ place, count }));
  return { removed, unreachable: [...unreachable] };
}

type Forgotten = Omit<ForgetReceipt, "forks">;

/**
 * Forgets a chat that no other process has: the mark comes first, then what others hold, the files, and last the log,
 * by which a start finds the rest.
 */
export async function forgetChat(log: ChatLog, chatId: string): Promise<Forgotten> {
  const state = await log.state(chatId);
  const { logs, tombstones } = log;
  const { clock, newId } = log.ports;
  const at = isoTime(clock.now());
  const given = { at, id: newId() };
  let said = state.head && (await lastSaid(logs, chatId, state));
  if (said === undefined && (await hasFiles(log, chatId))) said = [];
  const createdAt = state.head?.created_at;
  const begin = async () => said && tombstones.begin(chatId, given, said, createdAt);
  let mark = await begin();
  // What is appended from here on goes with the log: others must not hear it after they removed the rest.
  log.unheard.add(chatId);
  const rows: Removed[] = [];
  const removing = async () => {
    rows.push(...(await log.removeElsewhere(chatId, "forget")));
    return remove(log, chatId);
  };
  const { existed, files } = await removing().finally(() => log.unheard.delete(chatId));
  if (files !== undefined) rows.push(files);
  // Also of a chat that has no log: the mark keeps it out of an import, and what was not reached goes later.
  if (rows.some((row) => "unreachable" in row || row.count > 0)) said ??= [];
  mark ??= await begin(); // a full disk has room for it now
  mark ??= (await tombstones.after(0)).begun.get(hashOf(chatId)); // of a call that failed at its end
  // Also if files are left: with its mark open, a new chat of this id would be forgotten at the next start.
  if (mark !== undefined) await tombstones.finish(mark);
  for (const other of log.others) other.forgotten?.(chatId, mark);
  const count = existed ? (state.head?.message_count ?? 1) : 0;
  if (said !== undefined && mark === undefined) {
    rows.push({ unreachable: "the list of forgotten chats: an import could bring it back" });
  }
  const { removed, unreachable } = summed(rows);
  if (said !== undefined) {
    const found = {
      transcript: count,
      ...Object.fromEntries(removed.map((row) => [row.place, row.count])),
    };
    const about = { chat_hash: hashOf(chatId), removed: found, unreachable: unreachable.length };
    log.ports.logger.info(about, "a chat was forgotten");
  }
  return {
    chat_id: chatId,
    at,
    removed: [{ place: "transcript", count }, ...removed],
    unreachable,
  };
}

/**
 * Finishes what a dead process began: forgetting, and copies that are not whole.
 *
 * @param recreated chats that this start made again from a journal, which may be of before they were forgotten.
 */
export async function finishForgetting(log: ChatLog, recreated: readonly string[]): Promise<void> {
  const { logs, tombstones } = log;
  const forgotten = await tombstones.after(0);
  for (const chatId of recreated) {
    const state = await log.state(chatId).catch(() => undefined); // reading it reports what is wrong
    const createdAt = state?.head?.created_at;
    if (createdAt !== undefined && forgotten.holds(chatId, createdAt)) await remove(log, chatId);
  }
  const { begun } = forgotten;
  const gone = new Map(begun);
  const failed = (error: unknown) => {
    const says = "a forgetting is not finished; tried again at the next start";
    log.ports.logger.warn({ error: errorName(error) }, says);
  };
  const finish = async (key: string) => {
    const wasBegun = gone.delete(hashOf(key));
    const work = async () => {
      if (!(await isLeftOver(log, key, wasBegun))) return true;
      // There was no request to forget one that is only unfinished: it may be created again.
      await (wasBegun ? forgetChat(log, key) : remove(log, key));
      return true;
    };
    // Another process is working on it, or died and has its lease for a while: this does not wait.
    if (!(await log.aloneNow(key, work))) void log.alone(key, work).catch(failed);
  };
  const label = begun.size > 0 ? undefined : "unfinished";
  for await (const { key, head } of rows(logs, { label })) {
    if (gone.has(hashOf(key)) || head["unfinished"] === true) await finish(key);
  }
  try {
    // Files may be left of a chat that has no log.
    if (gone.size > 0) {
      for await (const key of log.files.keys()) if (gone.has(hashOf(key))) await finish(key);
    }
  } catch (error) {
    failed(error);
  }
  // Or a new chat with the id of one of them would be taken for it at the next start.
  for (const mark of gone.values()) await tombstones.finish(mark).catch(failed);
}

/** Another process may have finished it since it was listed. */
async function isLeftOver(log: ChatLog, chatId: string, wasBegun: boolean): Promise<boolean> {
  if (wasBegun) return (await log.tombstones.after(0)).begun.has(hashOf(chatId));
  return (await log.state(chatId)).head?.unfinished === true;
}

/** Removes the log of a chat and its files: no change of it comes in between. */
export function remove(
  log: ChatLog,
  chatId: string,
): Promise<{ readonly existed: boolean; readonly files: Removed | undefined }> {
  return log.between(chatId, async () => {
    log.forgetState(chatId);
    const files = await removeFiles(log, chatId);
    return { existed: await log.logs.delete(chatId), files };
  });
}

async function removeFiles(log: ChatLog, chatId: string): Promise<Removed | undefined> {
  try {
    const count = await log.files.delete(chatId);
    return count === 0 ? undefined : { place: attachmentsPlace, count };
  } catch (error) {
    log.ports.logger.error({ error: errorName(error) }, "attachments were not removed");
    return { unreachable: "attachments: not removed; repeat this" };
  }
}

async function hasFiles({ files }: ChatLog, chatId: string): Promise<boolean> {
  const found = await files.list(chatId).catch(() => undefined);
  return found === undefined || found.length > 0; // those that cannot be read are there
}

/** Records at the end of a log that are looked through for what people said. */
const lastRecords = 1_000;

/** The ids of what people said last in a chat, and of what waits, as far as the log can be read. */
async function lastSaid(
  logs: Pick<LogStore, "read">,
  chatId: string,
  { seq, head }: ChatState,
): Promise<readonly string[]> {
  const ids: string[] = [];
  try {
    for await (const record of logs.read(chatId, { after: Math.max(0, seq - lastRecords) })) {
      if (isMessage(record) && record.role === "user") ids.push(record.id);
    }
  } catch {
    // Damage must not keep a chat from being forgotten.
  }
  return ids.concat(head?.pending ?? []);
}
