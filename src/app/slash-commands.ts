import { isThroughlineError } from "../core/errors.ts";
import { shownModel } from "../core/models/model-name.ts";
import type { Turn } from "../core/turns/turn.ts";
import type { ModelChoice } from "./model-choice.ts";
import type { Companion } from "./open-companion.ts";

const slashHelp = `/answer   answer the unanswered message, before you say something else
/dismiss  leave the unanswered message without an answer
/attach   add a file to your next message: /attach PATH; alone it lists them, /detach takes them back
/model    list the models; /model 2 and /model ollama/qwen3 switch to one; /model ollama looks for Ollama
/new      start over with the active provider; the transcript stays
/newall   start over with every provider; the transcript stays
/clear    hide every message so far; they stay in the file
/help     show this list
/quit     end the chat; so does "goodbye"
A line that starts with a space is never a command. Alt+Enter starts a new line in a message, and
pasted text is one message, even if it has several lines.`;

const othersStay =
  "Other providers keep their sessions, and the transcript stays. /newall starts over with every provider.";

/** What a command did: a line to show, a turn to follow, or the end of the chat. */
type SlashResult =
  | { readonly type: "say"; readonly text: string }
  | { readonly type: "turn"; readonly turn: Turn }
  | { readonly type: "quit" };

/** Commands that take one more word. */
const withWord = ["model"];

/**
 * The command that a line is, with the word that it takes: one word after a slash, so that paths can be
 * talked about.
 */
export function slashCommand(line: string): string | undefined {
  const [, name = "", word = ""] = /^\/([a-z]+)(?:\s+(\S+))?\s*$/i.exec(line) ?? [];
  const command = name.toLowerCase();
  if (word === "") return command || undefined;
  return withWord.includes(command) ? `${command} ${word}` : undefined;
}

/** Runs one. Something that does not exist is a line to show, not an error. */
export async function runSlashCommand(
  command: string,
  chatId: string,
  companion: Companion,
  models: ModelChoice,
): Promise<SlashResult> {
  const { turns } = companion;
  const [name = "", word = ""] = command.split(" ");
  if (name === "quit" || name === "exit") return { type: "quit" };
  if (name === "model") return { type: "say", text: await models.run(word) };
  try {
    if (name === "answer") return { type: "turn", turn: await turns.answer(chatId, models.chosen) };
    return { type: "say", text: await change(name, chatId, companion, models) };
  } catch (error) {
    if (!isThroughlineError(error, "THROUGHLINE_NOT_FOUND")) throw error;
    return {
      type: "say",
      text:
        name === "answer" ? "There are no unanswered messages." : "This chat has no messages yet.",
    };
  }
}

async function change(
  name: string,
  chatId: string,
  { turns, throughline }: Companion,
  { target }: ModelChoice,
): Promise<string> {
  const { chats, sessions } = throughline;
  if (name === "help") return slashHelp;
  if (name === "dismiss") {
    const count = await turns.dismiss(chatId);
    if (count === 0) return "There are no unanswered messages.";
    return count === 1 ? "The message stays unanswered." : `${count} messages stay unanswered.`;
  }
  if (name === "new") {
    await chats.row(chatId);
    const { provider } = await turns.target(chatId, target);
    await sessions.beginAgain(chatId, provider);
    return `${shownModel({ provider, model: "" })} starts over and no longer gets what was said before. ${othersStay}`;
  }
  if (name === "newall") {
    await chats.row(chatId);
    await sessions.reset(chatId);
    return "A new session has started with every provider. The session before is kept and can still be read.";
  }
  if (name === "clear") {
    await chats.clear(chatId);
    return "Done. Earlier messages are no longer shown or sent to a model.";
  }
  return `There is no command /${name}. /help lists the commands.`;
}
