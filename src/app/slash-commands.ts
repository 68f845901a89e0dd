import type { Target } from "../core/chat/provider-sessions.ts";
import { isThroughlineError } from "../core/errors.ts";
import type { Turn } from "../core/turns/turn.ts";
import type { Companion } from "./open-companion.ts";

export const slashHelp = `/answer   answer the message that has no answer yet: before you say something else
/dismiss  leave it without an answer
/new      begin again: the active provider forgets, others and the transcript stay
/newall   begin a new session: every provider forgets, the transcript stays
/clear    begin with an empty page: what was said stays in the file only
/help     this list
/quit     end; so does "goodbye"
A line that begins with a space is never a command. Alt+Enter begins a new line of a message, and
what you paste is one message, however many lines it has.`;

const othersStay =
  "Other providers keep their part, and the transcript stays. /newall begins again with every provider.";

/** What a command did: a line to show, a turn to follow, or the end of the chat. */
export type SlashResult =
  | { readonly type: "say"; readonly text: string }
  | { readonly type: "turn"; readonly turn: Turn }
  | { readonly type: "quit" };

/** The command that a line is: one word after a slash, so that paths can be talked about. */
export function slashCommand(line: string): string | undefined {
  return /^\/([a-z]+)\s*$/i.exec(line)?.[1]?.toLowerCase();
}

/** Runs one. What is not there is said, and no error. */
export async function runSlashCommand(
  name: string,
  chatId: string,
  companion: Companion,
  target: Target = {},
): Promise<SlashResult> {
  const { turns } = companion;
  if (name === "quit" || name === "exit") return { type: "quit" };
  try {
    if (name === "answer") return { type: "turn", turn: await turns.answer(chatId) };
    return { type: "say", text: await change(name, chatId, companion, target) };
  } catch (error) {
    if (!isThroughlineError(error, "THROUGHLINE_NOT_FOUND")) throw error;
    return {
      type: "say",
      text: name === "answer" ? "Every message is answered." : "Nothing was said yet.",
    };
  }
}

async function change(
  name: string,
  chatId: string,
  { turns, throughline }: Companion,
  target: Target,
): Promise<string> {
  const { chats, sessions } = throughline;
  if (name === "help") return slashHelp;
  if (name === "dismiss") {
    const count = await turns.dismiss(chatId);
    if (count === 0) return "Every message is answered.";
    return count === 1
      ? "It stays without an answer."
      : `${count} messages stay without an answer.`;
  }
  if (name === "new") {
    await chats.row(chatId);
    const { provider } = await turns.target(chatId, target);
    await sessions.beginAgain(chatId, provider);
    return `${provider} begins again: it gets nothing that was said before. ${othersStay}`;
  }
  if (name === "newall") {
    await chats.row(chatId);
    await sessions.reset(chatId);
    return "A new session begins with every provider. The one before is kept and can be read.";
  }
  if (name === "clear") {
    await chats.clear(chatId);
    return "An empty page. What was said before is no longer shown, and no model sees it.";
  }
  return `There is no /${name}. /help lists the commands.`;
}
