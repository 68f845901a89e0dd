import type { Routes } from "../cli/routes.ts";
import { isThroughlineError } from "../core/errors.ts";
import { clearShown, dismissWaiting, noneUnanswered, startOver } from "./chats/change.ts";
import type { ServedChat } from "./chats/served-chat.ts";
import { type ModelChoice, targetOf } from "./model-choice.ts";
import type { AskedTurn } from "./turn-events.ts";

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

/**
 * Runs one. Something that does not exist is a line to show, not an error.
 *
 * @returns a line to show, or a turn to follow; `undefined`: the chat ends.
 */
export async function runSlashCommand(
  command: string,
  path: string,
  routes: Routes,
  models: ModelChoice,
): Promise<string | AskedTurn | undefined> {
  const [name = "", word = ""] = command.split(" ");
  if (name === "quit" || name === "exit") return undefined;
  if (name === "help") return slashHelp;
  if (name === "model") return models.run(word);
  try {
    if (name === "dismiss") return await dismissWaiting(routes, path);
    if (name === "clear") return await clearShown(routes, path);
    if (name === "new" || name === "newall") {
      const { provider_sessions: known } = await routes.json<ServedChat>(path); // a reset begins a chat
      const { provider } = await targetOf(routes, path, models.target);
      const isNew = !Object.hasOwn(known, provider); // then it gets nothing of before
      if (name === "new" && isNew) return "This provider has no session here yet.";
      return await startOver(routes, path, name === "new" ? provider : undefined, "/newall");
    }
    if (name !== "answer") return `There is no command /${name}. /help lists the commands.`;
    const query = { if_exists: true };
    const chat = await routes.json<ServedChat | undefined>(path, { query });
    if (!chat?.row.unanswered) return noneUnanswered;
    return { routes, path, events: routes.events(`${path}/answer`, models.chosen ?? {}) };
  } catch (error) {
    if (!isThroughlineError(error, "THROUGHLINE_NOT_FOUND")) throw error;
    return "This chat has no messages yet.";
  }
}
