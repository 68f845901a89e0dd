import type { Context } from "../../cli/command.ts";
import { Exit, exitCodes, wrongUsage } from "../../cli/failure.ts";
import { counted, json, localTime } from "../../cli/format.ts";
import { assertHomeExists } from "../../cli/home.ts";
import { type Io, tell, untilStopped, write } from "../../cli/io.ts";
import { confirm } from "../../cli/line-reader.ts";
import { chatPath, pathPart, type Routes } from "../../cli/routes.ts";
import { type Flags, resolveSettings } from "../../cli/settings.ts";
import type { ChatRow } from "../../core/chat/chat-head.ts";
import { notFound } from "../../core/chat/chat-log.ts";
import type { ForgetReceipt, RemovalReceipt } from "../../core/chat/forget.ts";
import { printableLine } from "../../core/chat/printable.ts";
import type { PeriodView } from "../../core/chat/provider-sessions.ts";
import { shownModel } from "../../core/models/model-name.ts";
import { type TurnResult, textOutput } from "../../core/turns/coordinator.ts";
import { features } from "../features.ts";
import { everywhere, modelBody, withModelRoutes, withRoutes } from "../routes.ts";
import { type AnswerJson, type Notices, turnEvents } from "../turn-events.ts";
import {
  type ChatCommand,
  type ChatFlags,
  exportChat,
  list,
  type ServedChat,
  search,
  show,
  zoneOf,
} from "./read.ts";

/** What the commands of `sessions` do that change chats. */
const changes = { reset, clear, fork, erase, dismiss, forget };
const commands = { ...changes, list, show, search, export: exportChat };
export type ChatCommandName = keyof typeof commands;

/** Runs a command of `sessions`. @param given as the parser gives it: what was typed, then its options. */
export function runChatCommand(
  name: ChatCommandName,
  given: readonly unknown[],
  context: Context,
): Promise<void> {
  const { io } = context;
  const args = given.slice(0, -2).flat() as readonly string[];
  const flags = given.at(-2) as ChatFlags;
  const path = name === "list" || name === "search" ? "" : chatPath(args[0] ?? "");
  return withRoutes(
    flags,
    context,
    async (routes, settings) => {
      const says = await commands[name]({ routes, settings, io, flags, args, path });
      if (typeof says === "string") await say(io, says);
    },
    name in changes ? everywhere : undefined,
  );
}

const say = (io: Io, line: string) => write(io.output, `${line}\n`);

/** The chat that a command is about. */
type ChatPlace = Pick<ChatCommand, "routes" | "path">;

async function reset({ routes, flags, path }: ChatCommand): Promise<string> {
  const { row } = await routes.json<ServedChat>(path); // a reset makes a chat
  const active = row.generation === 0 ? undefined : row.provider;
  // Where no model has answered yet, every provider starts over.
  const provider = flags.provider ?? (flags.all || active === "offline" ? undefined : active);
  return startOver(routes, path, provider, "--all");
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

/** Hides what was said so far. @returns what to say. */
export async function clear({ routes, path }: ChatPlace): Promise<string> {
  const { row } = await routes.json<ServedChat>(path);
  await routes.post(`${path}/clear`);
  const what = counted(row.message_count, "message is", "messages are");
  return `${what} no longer shown or sent to a model. The file keeps them.`;
}

/** Leaves what waits without an answer. @returns what to say. */
export async function dismiss({ routes, path }: ChatPlace): Promise<string> {
  const { dismissed } = await routes.post<{ readonly dismissed: number }>(`${path}/dismiss`);
  const what = counted(dismissed, "message stays", "messages stay");
  return dismissed === 0 ? noneUnanswered : `${what} unanswered.`;
}

export const noneUnanswered = "There are no unanswered messages.";

async function fork({ routes, args, path }: ChatCommand): Promise<string> {
  const [, message_id, chat_id] = args;
  const row = await routes.post<ChatRow>(`${path}/fork`, { message_id, chat_id });
  return `Created ${row.chat_id} with ${counted(row.message_count, "message")}.`;
}

async function erase({ routes, io, args: [, id = ""], path }: ChatCommand): Promise<void> {
  const place = `${path}/messages/${pathPart(id)}`;
  const receipt = await routes.json<RemovalReceipt>(place, { method: "DELETE" });
  await say(io, "The message is deleted. Quotes of it in other messages are not.");
  await sayReach(io, receipt);
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

/**
 * Forgets a chat, or what a framework keeps under an id, and prints the receipt. Asks first; without a
 * terminal it needs `--yes`.
 *
 * @throws Exit with 1: the person said no, or a place could not be reached.
 */
async function forget({ routes, settings, io, flags, args, path }: ChatCommand): Promise<void> {
  if (!flags.yes && !io.isInteractive) {
    throw wrongUsage("forgetting cannot be undone. Pass --yes to confirm");
  }
  const [chatId = ""] = args;
  const query = { if_exists: true };
  const chat = await routes.json<ServedChat | undefined>(path, { query });
  if (!flags.yes) {
    const what = [printableLine(chatId)];
    if (chat !== undefined) {
      const since = localTime(chat.row.created_at, zoneOf(settings, chat));
      what.push(`${counted(chat.row.message_count, "message")} since ${since}`);
    }
    if (!(await confirm(io, `Forget ${what.join(", ")}? This cannot be undone.`))) {
      await tell(io, "Nothing was forgotten.");
      throw new Exit(exitCodes.failed);
    }
  }
  const receipt = await routes.json<ForgetReceipt>(path, { method: "DELETE" });
  const { removed, unreachable } = receipt;
  // A framework may have a thread or a session of this id without a chat, and files may be left of one.
  const isElse = removed.some(({ count }) => count > 0) || unreachable.length > 0;
  if (chat === undefined && !isElse) throw notFound(chatId);
  await write(io.output, flags.json ? json(receipt) : receiptText(receipt));
  if (unreachable.length > 0) throw new Exit(exitCodes.failed);
}

function receiptText(receipt: ForgetReceipt): string {
  const lines = [
    `Forgotten: ${printableLine(receipt.chat_id)}`,
    ...receipt.removed.map(({ place, count }) => `  ${place}: ${count}`),
    ...receipt.unreachable.map((place) => `  NOT REACHED: ${place}`),
    ...receipt.forks.map((id) => `  still in a fork, forget it too: ${printableLine(id)}`),
  ];
  return `${lines.join("\n")}\n`;
}

/**
 * Answers the oldest unanswered message, streaming the answer to stdout. Without one it prints so: `null`
 * as JSON.
 *
 * @throws Exit with 1: the answer failed or was cut off. With 130: interrupted.
 */
export async function answer(chatId: string, flags: Flags, context: Context): Promise<void> {
  const { io } = context;
  const settings = resolveSettings(flags, context.env);
  if (settings.store === undefined) assertHomeExists(settings.home);
  const work = (ending: AbortSignal) =>
    withModelRoutes(settings, context, async (routes, _, isServed) => {
      const path = chatPath(chatId);
      const body = modelBody(flags, isServed); // a model that is named here is for this answer
      if (!(await routes.json<ServedChat>(path)).row.unanswered) {
        return await write(io.output, flags.json ? json(null) : `${noneUnanswered}\n`);
      }
      const late: string[] = [];
      let whole: AnswerJson | undefined;
      const notices: Notices = {
        early: (text) => tell(io, `(${text})`),
        late: (text) => void late.push(text),
        result: (found) => {
          whole = found;
        },
      };
      const output = textOutput((text) => (flags.json ? undefined : write(io.output, text)));
      let result: TurnResult = { outcome: "failed", response: "" };
      const turn = { routes, path, events: routes.events(`${path}/answer`, body) };
      for await (const event of turnEvents(turn, ending, notices)) {
        if (event.type === "text") await output.write(event.text);
        else result = event;
      }
      await output.end(result);
      for (const text of late) await tell(io, `(${text})`);
      const { outcome, reason } = result;
      if (flags.json) await write(io.output, json(whole ?? { outcome, reason }));
      ending.throwIfAborted();
      if (outcome !== "answered") throw new Exit(exitCodes.failed);
    });
  await untilStopped(io, work);
}
