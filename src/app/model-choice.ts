import { bytes, counted } from "../cli/format.ts";
import { printableLine } from "../core/chat/printable.ts";
import type { PeriodView, ProviderModel, Target } from "../core/chat/provider-sessions.ts";
import type { ModelList } from "../core/models/model-lists.ts";
import { type OfferedModel, providerName, shownModel } from "../core/models/model-name.ts";
import type { Companion } from "./open-companion.ts";

/** So many models of one provider are listed. */
const maxShown = 40;

type Choice = ProviderModel & OfferedModel;

/** Which model the turns of one chat are to run on: `/model` shows and changes it. */
export class ModelChoice {
  readonly #companion: Companion;
  readonly #chatId: string;
  readonly #given: Target;
  #chosen: ProviderModel | undefined;
  /** As they were numbered last. */
  #shown: readonly Choice[] | undefined;

  /** @param given what every turn is to run on until one is chosen; empty: what its period ran on. */
  constructor(companion: Companion, chatId: string, given: Target) {
    this.#companion = companion;
    this.#chatId = chatId;
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
    const { turns, throughline } = this.#companion;
    const current = await turns.target(this.#chatId, this.target);
    if (wanted === "" || wanted === "ollama") return this.#list(current, wanted === "ollama");
    const asked = await this.#named(wanted);
    if (typeof asked === "string") return asked;
    const next = await turns.target(this.#chatId, asked);
    const name = printableLine(shownModel(next));
    if (isSame(next, current)) return `This chat already runs on ${name}.`;
    const period = await throughline.sessions.active(this.#chatId);
    this.#chosen = next;
    return [`${name} answers from your next message on.`, ...switchWords(period, next)].join(" ");
  }

  async #list(current: ProviderModel, ollama = false): Promise<string> {
    const list = await this.#companion.turns.models({ ollama, again: ollama });
    const groups = list.providers.map(({ provider, models }) =>
      models.map((each): Choice => ({ provider, ...each })),
    );
    const shown = groups.flatMap((models) => models.slice(0, maxShown));
    this.#shown = shown;
    const width = String(shown.length).length;
    const lines = shown.map((each, at) => {
      const mark = isSame(each, current) ? "*" : " ";
      const facts = [
        each.sizeBytes === undefined ? "" : bytes(each.sizeBytes),
        each.takesPictures === true ? "takes pictures" : "",
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
      if (this.#shown === undefined) await this.#list(this.#companion.turns.standard);
      const choice = this.#shown?.[Number(wanted) - 1];
      return choice ?? `There is no model ${wanted} in the list. /model shows the list.`;
    }
    if (wanted === "offline") return { provider: wanted, model: wanted };
    const slash = wanted.indexOf("/");
    const { providers } = await this.#companion.turns.models();
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

/** What happens to the sessions of a chat when it is switched to another model. */
function switchWords(period: PeriodView | undefined, next: ProviderModel): readonly string[] {
  if (period === undefined) return [];
  const from = providerName(period.provider);
  const to = providerName(next.provider);
  if (period.provider === next.provider) {
    return [`The session with ${to} continues: the new model gets the messages of this chat.`];
  }
  const answersOf = (provider: string) => {
    const { provider_sessions: sessions } = period;
    return Object.hasOwn(sessions, provider) ? (sessions[provider]?.message_count ?? 0) : 0;
  };
  const [before, known] = [answersOf(period.provider), answersOf(next.provider)];
  const words =
    next.provider === "offline"
      ? "No model gets your messages then."
      : known > 0
        ? `${to} continues its session (${counted(known, "answer")}) and gets what was said since.`
        : `${to} gets the messages of this chat and starts a session of its own.`;
  if (before === 0 || period.provider === "offline") return [words];
  const kept = `The session with ${from} (${counted(before, "answer")}) is kept and continues when you switch back.`;
  return [words, kept];
}
