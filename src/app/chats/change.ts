import type { Context } from "../../cli/command.ts";
import { Exit, exitCodes } from "../../cli/failure.ts";
import { counted } from "../../cli/format.ts";
import { type Io, write } from "../../cli/io.ts";
import { chatPath, pathPart, type Routes } from "../../cli/routes.ts";
import type { Flags } from "../../cli/settings.ts";
import type { ChatRow } from "../../core/chat/chat-head.ts";
import type { RemovalReceipt } from "../../core/chat/forget.ts";
import { printableLine } from "../../core/chat/printable.ts";
import type { PeriodView } from "../../core/chat/provider-sessions.ts";
import { shownModel } from "../../core/models/model-name.ts";
import { features } from "../features.ts";
import { everywhere, withRoutes } from "../routes.ts";
import { type ServedChat, sessionOf } from "./served-chat.ts";

const say = (io: Io, line: string) => write(io.output, `${line}\n`);

export function reset(
  chatId: string,
  {
    provider: asked,
    all: isAll,
    ...flags
  }: Flags & { readonly provider?: string; readonly all?: boolean },
  context: Context,
): Promise<void> {
  return withRoutes(flags, context, async (routes) => {
    const path = chatPath(chatId);
    const active = sessionOf(await routes.json<ServedChat>(path))?.provider; // a reset makes a chat
    // Where no model has answered yet, every provider starts over.
    const provider = asked ?? (isAll || active === "offline" ? undefined : active);
    return say(context.io, await startOver(routes, path, provider, "--all"));
  });
}

/**
 * Begins the session of a provider again, or of all: `undefined`.
 *
 * @param all what a person types for all.
 * @returns what to say.
 */
export async function startOver(
  routes: Routes,
  path: string,
  provider: string | undefined,
  all: string,
): Promise<string> {
  if (provider === undefined) {
    const { generation } = await routes.post<PeriodView>(`${path}/reset`, { all: true });
    const begins = `Session ${generation} has started with every provider.`;
    return `${begins} The session before is kept and can still be read.`;
  }
  await routes.post(`${path}/reset`, { provider });
  const name = shownModel({ provider, model: "" });
  return (
    `${name} starts over in this chat and no longer gets what was said before. Other providers keep their ` +
    `sessions, and the transcript stays. ${all} starts over with every provider.`
  );
}

export function clear(chatId: string, flags: Flags, context: Context): Promise<void> {
  const work = async (routes: Routes) =>
    say(context.io, await clearShown(routes, chatPath(chatId)));
  return withRoutes(flags, context, work, everywhere);
}

/** Hides what was said so far. @returns what to say. */
export async function clearShown(routes: Routes, path: string): Promise<string> {
  const { row } = await routes.json<ServedChat>(path);
  await routes.post(`${path}/clear`);
  const what = counted(row.message_count, "message is", "messages are");
  return `${what} no longer shown or sent to a model. The file keeps them.`;
}

/** Leaves what waits without an answer. @returns what to say. */
export async function dismissWaiting(routes: Routes, path: string): Promise<string> {
  const { dismissed } = await routes.post<{ readonly dismissed: number }>(`${path}/dismiss`);
  const what = counted(dismissed, "message stays", "messages stay");
  return dismissed === 0 ? noneUnanswered : `${what} unanswered.`;
}

export const noneUnanswered = "There are no unanswered messages.";

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
    const row = await routes.post<ChatRow>(`${chatPath(chatId)}/fork`, copy);
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
    const receipt = await routes.json<RemovalReceipt>(path, { method: "DELETE" });
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
