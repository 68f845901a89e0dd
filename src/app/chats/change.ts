import type { Context } from "../../cli/command.ts";
import { Exit, exitCodes, Failed } from "../../cli/failure.ts";
import { counted } from "../../cli/format.ts";
import { type Io, write } from "../../cli/io.ts";
import { chatPath, pathPart, type Routes } from "../../cli/routes.ts";
import type { Flags } from "../../cli/settings.ts";
import type { ChatRow } from "../../core/chat/chat-head.ts";
import type { RemovalReceipt } from "../../core/chat/forget-receipt.ts";
import { printableLine } from "../../core/chat/printable.ts";
import type { PeriodView } from "../../core/chat/provider-sessions.ts";
import { isThroughlineError } from "../../core/errors.ts";
import { shownModel } from "../../core/models/model-name.ts";
import { features } from "../features.ts";
import { everywhere, withRoutes } from "../routes.ts";
import { type ServedChat, sessionOf } from "./served-chat.ts";

const say = (io: Io, line: string) => write(io.output, `${line}\n`);

export function reset(
  chatId: string,
  flags: Flags & { readonly provider?: string; readonly all?: boolean },
  context: Context,
): Promise<void> {
  const { io } = context;
  return withRoutes(flags, context, async (routes) => {
    const path = chatPath(chatId);
    const active = sessionOf(await routes.json<ServedChat>(path))?.provider; // a reset makes a chat
    // Where no model has answered yet, every provider starts over.
    const isAll = active === undefined || active === "offline";
    const provider = flags.provider ?? (isAll || flags.all === true ? undefined : active);
    if (provider === undefined) {
      const { generation } = await routes.post<PeriodView>(`${path}/reset`, { all: true });
      const begins = `Session ${generation} has started with every provider.`;
      return say(io, `${begins} The session before is kept and can still be read.`);
    }
    await inChat(routes, chatId, () => routes.post(`${path}/reset`, { provider }));
    return say(
      io,
      `${shownModel({ provider, model: "" })} starts over in this chat and no longer gets what was said before. Other providers ` +
        "keep their sessions, and the transcript stays. --all starts over with every provider.",
    );
  });
}

export function clear(chatId: string, flags: Flags, context: Context): Promise<void> {
  const { io } = context;
  const work = async (routes: Routes) => {
    const path = chatPath(chatId);
    const { row } = await routes.json<ServedChat>(path);
    await routes.post(`${path}/clear`);
    const what = counted(row.message_count, "message is", "messages are");
    return say(io, `${what} no longer shown or sent to a model. The file keeps them.`);
  };
  return withRoutes(flags, context, work, everywhere);
}

export function fork(
  chatId: string,
  message_id: string,
  chat_id: string,
  flags: Flags,
  context: Context,
): Promise<void> {
  const { io } = context;
  return withRoutes(flags, context, async (routes) => {
    const copy = { message_id, chat_id };
    const row = await inChat(routes, chatId, () =>
      routes.post<ChatRow>(`${chatPath(chatId)}/fork`, copy),
    );
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
  const work = async (routes: Routes) => {
    const path = `${chatPath(chatId)}/messages/${pathPart(messageId)}`;
    const receipt = await inChat(routes, chatId, () =>
      routes.json<RemovalReceipt>(path, { method: "DELETE" }),
    );
    await say(io, "The message is deleted. Quotes of it in other messages are not.");
    await sayReach(io, receipt);
  };
  return withRoutes(flags, context, work, everywhere);
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
async function inChat<T>(routes: Routes, chatId: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const code = "THROUGHLINE_NOT_FOUND";
    if (!isThroughlineError(cause, code)) throw cause;
    await routes.json(chatPath(chatId));
    const wayOut = "`throughline sessions show CHAT` shows the messages of a chat with their ids.";
    throw new Failed(cause.message, { code, wayOut, cause });
  }
}
