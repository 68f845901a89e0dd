import type { Context } from "../../cli/command.ts";
import { Exit, exitCodes, Failed } from "../../cli/failure.ts";
import { counted } from "../../cli/format.ts";
import { type Io, write } from "../../cli/io.ts";
import { withMemories } from "../../cli/memories.ts";
import type { Flags } from "../../cli/settings.ts";
import { notFound } from "../../core/chat/chat-log.ts";
import type { Chats } from "../../core/chat/chats.ts";
import type { RemovalReceipt } from "../../core/chat/forget-receipt.ts";
import { printableLine } from "../../core/chat/printable.ts";
import { isThroughlineError } from "../../core/errors.ts";
import { shownModel } from "../../core/models/model-name.ts";
import { features } from "../features.ts";
import { withAllFeatures } from "../open-companion.ts";
import { pagesOf } from "./pages.ts";

const say = (io: Io, line: string) => write(io.output, `${line}\n`);

export function reset(
  chatId: string,
  flags: Flags & { readonly provider?: string; readonly all?: boolean },
  context: Context,
): Promise<void> {
  const { io } = context;
  return withMemories(flags, context, async (throughline) => {
    const { chats, sessions } = throughline;
    await chats.row(chatId); // a reset would create a missing chat
    const active = (await sessions.active(chatId))?.provider;
    const pages = pagesOf(throughline);
    // Where no model has answered yet, every provider starts over.
    const isAll = active === undefined || active === "offline";
    const provider = flags.provider ?? (isAll || flags.all === true ? undefined : active);
    if (provider === undefined) {
      const { generation } = await sessions.reset(chatId);
      pages.publish("session", { chat_id: chatId, change: "reset" });
      const begins = `Session ${generation} has started with every provider.`;
      return say(io, `${begins} The session before is kept and can still be read.`);
    }
    await inChat(chats, chatId, () => sessions.removeProvider(chatId, provider));
    pages.publish("session", { chat_id: chatId, change: "provider_reset" });
    return say(
      io,
      `${shownModel({ provider, model: "" })} starts over in this chat and no longer gets what was said before. Other providers ` +
        "keep their sessions, and the transcript stays. --all starts over with every provider.",
    );
  });
}

export function clear(chatId: string, flags: Flags, context: Context): Promise<void> {
  const { io } = context;
  return withAllFeatures(flags, context, async (throughline) => {
    const { chats } = throughline;
    const { message_count } = await chats.row(chatId);
    await chats.clear(chatId);
    pagesOf(throughline).publish("session", { chat_id: chatId, change: "cleared" });
    const what = counted(message_count, "message is", "messages are");
    return say(io, `${what} no longer shown or sent to a model. The file keeps them.`);
  });
}

export function fork(
  chatId: string,
  messageId: string,
  newChatId: string,
  flags: Flags,
  context: Context,
): Promise<void> {
  const { io } = context;
  return withMemories(flags, context, async (throughline) => {
    const { chats } = throughline;
    const row = await inChat(chats, chatId, () => chats.fork(chatId, messageId, newChatId));
    pagesOf(throughline).publish("session", { chat_id: row.chat_id, change: "forked" });
    return say(io, `Created ${row.chat_id} with ${counted(row.message_count, "message")}.`);
  });
}

export function erase(
  chatId: string,
  messageId: string,
  flags: Flags,
  context: Context,
): Promise<void> {
  const { io } = context;
  return withAllFeatures(flags, context, async (throughline) => {
    const { chats } = throughline;
    const pages = pagesOf(throughline);
    const receipt = await inChat(chats, chatId, async () => {
      const erased = await chats.erase(chatId, messageId);
      const { logs } = chats;
      const isHere = erased.erased || (await logs.find(chatId, messageId)) !== undefined;
      if (!isHere) throw notFound(chatId, "message");
      return erased;
    });
    for (const id of [chatId, ...receipt.copies]) {
      pages.publish("message", { change: "erased", chat_id: id, message_id: messageId });
    }
    await say(io, "The message is deleted. Quotes of it in other messages are not.");
    await sayReach(io, receipt);
  });
}

/**
 * Prints where else it was. @throws Exit with 1: a place was not reached. Other servers do not count: they
 * were notified, and cannot answer.
 */
async function sayReach(io: Io, { copies, removed, unreachable }: RemovalReceipt): Promise<void> {
  for (const chatId of copies) await say(io, `Also in: ${printableLine(chatId)}`);
  const countOf = (name: string) => removed.find(({ place }) => place === name)?.count ?? 0;
  const packages = countOf("packages");
  const damaged = countOf("damaged_bytes");
  if (damaged > 0) {
    await say(io, `Also deleted: ${counted(damaged, "byte")} that could not be read`);
  }
  if (packages > 0) await say(io, `Also deleted: ${counted(packages, "feedback package")}`);
  for (const place of unreachable) await say(io, `NOT REACHED: ${place}`);
  const notified = await Promise.all(features.map(async (each) => each.notified?.()));
  const failed = unreachable.filter((place) => !notified.includes(place));
  if (failed.length > 0) throw new Exit(exitCodes.failed);
}

/** For a message that is not found, the advice is to look in the chat, not in the list of chats. */
async function inChat<T>(chats: Chats, chatId: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const code = "THROUGHLINE_NOT_FOUND";
    if (!isThroughlineError(cause, code)) throw cause;
    await chats.row(chatId);
    const wayOut = "`throughline sessions show CHAT` shows the messages of a chat with their ids.";
    throw new Failed(cause.message, { code, wayOut, cause });
  }
}
