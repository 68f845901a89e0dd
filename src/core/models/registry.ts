import { invalid, ThroughlineError } from "../errors.ts";
import { Lru } from "../lru.ts";
import type { Responders } from "../turns/turns.ts";
import {
  type ModelSpec,
  type NamedProvider,
  namedProviders,
  parseModelName,
} from "./model-name.ts";
import { createResponder, type DetectOptions, detectModel, type FoundOllama } from "./models.ts";
import type { ModelSettings } from "./providers.ts";
import type { Responder } from "./responder.ts";

interface RegistryOptions extends DetectOptions {
  /**
   * What a new period runs on. Absent: the first model of an Ollama of one's own, else the offline
   * responder.
   */
  readonly standard?: ModelSpec | undefined;
  /** Providers that may be asked beside that of `standard`. A key alone allows none. @default none */
  readonly allowed?: readonly NamedProvider[];
  readonly settings: ModelSettings;
}

/** Responders that are kept: names come from requests, so their number is not ours. */
const maxKept = 100;

/** The models that can be asked, made when they are first asked for. */
export class ResponderRegistry implements Responders {
  readonly standard: { readonly provider: string; readonly model: string };
  /** An Ollama that answers and was not taken without being named: it is not one's own. */
  readonly passedOver: FoundOllama | undefined;
  #options: RegistryOptions;
  #providers: readonly string[];
  readonly #kept = new Lru<string, Promise<Responder>>(maxKept);

  private constructor(options: RegistryOptions, standard: Responder, passedOver?: FoundOllama) {
    const { provider, model } = standard;
    this.#providers = [...new Set([provider, ...(options.allowed ?? []), "offline"])];
    this.passedOver = passedOver;
    this.standard = { provider, model };
    this.#options = options;
    this.#kept.set(keyOf(provider, model), Promise.resolve(standard));
  }

  /**
   * Settles what new periods run on. With `standard` nothing is asked of the network; without it,
   * only the local Ollama is asked what it offers.
   *
   * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: a key, package or price is missing or wrong.
   */
  static async open(options: RegistryOptions): Promise<ResponderRegistry> {
    const { standard, settings } = options;
    if (standard !== undefined) {
      const responder = await createResponder(standard, settings, options);
      return new ResponderRegistry(options, responder);
    }
    const { spec, fetch, passedOver } = await detectModel(settings, options);
    const own = { ...options, fetch };
    const responder = await createResponder(spec, settings, own);
    return new ResponderRegistry(own, responder, passedOver);
  }

  /** The providers that may be asked; what they are sent leaves this program, but for `offline`. */
  get providers(): readonly string[] {
    return this.#providers;
  }

  /**
   * @throws ThroughlineError `THROUGHLINE_INVALID`: no such provider, or no name of a model.
   * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: it is not set up; the message says what is
   * missing. Asked again, it is looked for again.
   */
  async get(provider: string, model: string): Promise<Responder> {
    if (provider === "ollama") await this.#lookForOllama();
    const spec = this.#spec(provider, model);
    const key = keyOf(spec.provider, spec.model);
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    const made = createResponder(spec, this.#options.settings, this.#options);
    this.#kept.set(key, made);
    made.catch(() => this.#kept.delete(key)); // the caller gets the error
    return made;
  }

  /** With no model named, an Ollama of one's own may have started since. */
  async #lookForOllama(): Promise<void> {
    const { standard, settings } = this.#options;
    const isKnown = this.providers.includes("ollama") || this.passedOver !== undefined;
    if (standard !== undefined || isKnown) return;
    const { spec, fetch } = await detectModel(settings, this.#options);
    if (spec.provider !== "ollama" || this.providers.includes("ollama")) return;
    this.#options = { ...this.#options, fetch };
    this.#providers = [...this.providers, "ollama"];
  }

  #spec(provider: string, model: string): ModelSpec {
    // It has one model, and a period that comes from another provider brings another name.
    if (provider === "offline") return { provider, model: "offline" };
    if (provider === "openai-compatible") {
      // The address is the operator's alone: it decides where a conversation goes. A period that names
      // another model ran at another address.
      const { standard } = this.#options;
      if (standard?.provider !== provider || standard.model !== model) throw withoutUrl(model);
      return standard;
    }
    const named = namedProviders.find((known) => known === provider);
    if (named === undefined) {
      throw invalid(
        `provider must be one of ${namedProviders.join(", ")}, openai-compatible, offline`,
      );
    }
    if (!this.providers.includes(named)) throw notAllowed(named);
    return parseModelName(`${named}/${model}`);
  }
}

const keyOf = (provider: string, model: string) => JSON.stringify([provider, model]);

function notAllowed(provider: string): ThroughlineError {
  return invalid(
    `${provider} is not allowed here: name one of its models with --model, or add it to providers ` +
      "in throughline.config.json",
  );
}

function withoutUrl(model: string): ThroughlineError {
  return new ThroughlineError(
    `no address of the openai-compatible model ${model} is configured: name it at the start, as ` +
      "--model http://127.0.0.1:8080/v1#qwen3",
    { code: "THROUGHLINE_CONFIGURATION" },
  );
}
