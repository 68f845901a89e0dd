import { bytes } from "../cli/format.ts";
import type { Routes } from "../cli/routes.ts";
import { printableLine } from "../core/chat/printable.ts";
import type { ProviderModel, Target } from "../core/chat/provider-sessions.ts";
import { isThroughlineError } from "../core/errors.ts";
import { shownModel } from "../core/models/model-name.ts";
import type { modelListJson } from "../server/model-routes.ts";
import { clear, dismiss, noneUnanswered, startOver } from "./chats/change.ts";
import type { ServedChat } from "./chats/read.ts";
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
    if (name === "dismiss") return await dismiss({ routes, path });
    if (name === "clear") return await clear({ routes, path });
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

/** Most models listed for one provider. */
const maxShown = 40;

type ModelList = ReturnType<typeof modelListJson>;
type Choice = ProviderModel & ModelList["providers"][number]["models"][number];

/** What the next turn of a chat runs on. @throws ThroughlineError what is asked for cannot be asked. */
export async function targetOf(
  routes: Routes,
  path: string,
  { provider: asked, model: named }: Target,
): Promise<ProviderModel> {
  const query = { provider: asked, model: named };
  const { provider, model } = await routes.json<ProviderModel>(`${path}/prompt`, { query });
  return { provider, model };
}

/** Which model the turns of one chat are to run on: `/model` shows and changes it. */
export class ModelChoice {
  readonly #routes: Routes;
  readonly #path: string;
  readonly #given: Target;
  #chosen: ProviderModel | undefined;
  /** As they were numbered last. */
  #shown: readonly Choice[] | undefined;

  /** @param given what every turn is to run on until one is chosen; empty: what its period ran on. */
  constructor(routes: Routes, path: string, given: Target) {
    this.#routes = routes;
    this.#path = path;
    this.#given = given;
  }

  /** What every turn is to run on. */
  get target(): Target {
    return this.#chosen ?? this.#given;
  }

  /** What was chosen here. */
  get chosen(): ProviderModel | undefined {
    return this.#chosen;
  }

  /**
   * Lists the models, or switches to one from the next message on.
   *
   * @param wanted a number of the list, a model's name, or `provider/model`; "": list them; "ollama":
   *   look for an Ollama on this machine, and list them.
   * @returns what to tell.
   * @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_CONFIGURATION`: it cannot be asked here.
   */
  async run(wanted: string): Promise<string> {
    const current = await targetOf(this.#routes, this.#path, this.target);
    if (wanted === "" || wanted === "ollama") return this.#list(current, wanted === "ollama");
    const asked = await this.#named(wanted);
    if (typeof asked === "string") return asked;
    const next = await targetOf(this.#routes, this.#path, asked);
    const name = printableLine(shownModel(next));
    if (isSame(next, current)) return `This chat already runs on ${name}.`;
    this.#chosen = next;
    return `${name} answers from your next message on.`;
  }

  #models(again = false): Promise<ModelList> {
    const query = { again, ollama: again };
    return this.#routes.json("/api/models", { query });
  }

  async #list(current: ProviderModel, ollama = false): Promise<string> {
    const list = await this.#models(ollama);
    const groups = list.providers.map(({ provider, models }) =>
      models.map((each): Choice => ({ provider, ...each })),
    );
    const shown = groups.flatMap((models) => models.slice(0, maxShown));
    this.#shown = shown;
    const width = String(shown.length).length;
    const lines = shown.map((each, at) => {
      const mark = isSame(each, current) ? "*" : " ";
      const facts = [
        each.size_bytes === undefined ? "" : bytes(each.size_bytes),
        each.takes_pictures === true ? "takes pictures" : "",
      ].filter((fact) => fact !== "");
      const about = facts.length === 0 ? "" : `  (${facts.join(", ")})`;
      return `${mark} ${String(at + 1).padStart(width)}  ${printableLine(shownModel(each))}${about}`;
    });
    const isListed = shown.some((each) => isSame(each, current));
    const isMore = groups.some((models) => models.length > maxShown);
    return [
      ...lines,
      ...(isListed ? [] : [`* ${printableLine(shownModel(current))} answers now.`]),
      ...(isMore ? [`Of each provider, the first ${maxShown} models are listed.`] : []),
      ...notesOf(list),
      "/model NUMBER or /model PROVIDER/MODEL switches this chat to another model.",
    ].join("\n");
  }

  /** @returns a text: why there is none. */
  async #named(wanted: string): Promise<ProviderModel | string> {
    if (/^\d+$/.test(wanted)) {
      if (this.#shown === undefined) await this.#list((await this.#models()).standard);
      const choice = this.#shown?.[Number(wanted) - 1];
      return choice ?? `There is no model ${wanted} in the list. /model shows the list.`;
    }
    if (wanted === "offline") return { provider: wanted, model: wanted };
    const slash = wanted.indexOf("/");
    const { providers } = await this.#models();
    const known = providers.flatMap(({ provider, models }) =>
      models.filter(({ model }) => model === wanted).map(({ model }) => ({ provider, model })),
    );
    if (known.length === 1 && known[0] !== undefined) return known[0];
    if (slash > 0 && !/^https?:/i.test(wanted)) {
      return { provider: wanted.slice(0, slash), model: wanted.slice(slash + 1) };
    }
    return (
      "Name a model as PROVIDER/MODEL, such as /model ollama/qwen3, or by its number in the list that " +
      "/model shows. A server is named by its URL only at the start, with --model."
    );
  }
}

function isSame(a: ProviderModel, b: ProviderModel): boolean {
  return a.provider === b.provider && a.model === b.model;
}

/** Says why lists are missing, and how a model is found. */
function notesOf({ standard, providers }: ModelList): readonly string[] {
  const errors = providers.flatMap(({ error }) => (error === undefined ? [] : [`${error}.`]));
  const ollama = providers.find(({ provider }) => provider === "ollama");
  if (ollama === undefined) {
    const isSetUp = standard.provider !== "offline";
    return isSetUp ? errors : [...errors, "/model ollama looks for an Ollama on this machine."];
  }
  const isEmpty = ollama.models.length === 0 && ollama.error === undefined;
  return isEmpty
    ? [...errors, "Ollama has no chat model. Get one with `ollama pull qwen3`."]
    : errors;
}
