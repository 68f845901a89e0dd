import { invalid, type ThroughlineError } from "../errors.ts";
import { Lru } from "../lru.ts";
import { misconfigured } from "../options.ts";
import type { Responders } from "../turns/turns.ts";
import {
  type ModelSpec,
  type NamedProvider,
  namedProviders,
  parseModelName,
} from "./model-name.ts";
import { createResponder, detectModel, type FoundOllama, type ModelOptions } from "./models.ts";
import type { ModelSettings } from "./providers.ts";
import type { Responder } from "./responder.ts";

export interface RegistryOptions extends ModelOptions {
  /**
   * What a new period runs on. Absent: the first model of an Ollama of one's own, else the offline
   * responder.
   */
  readonly standard?: ModelSpec | undefined;
  /** Providers that may be asked beside that of `standard`. A key alone allows none. @default none */
  readonly allowed?: readonly NamedProvider[] | undefined;
  readonly settings: ModelSettings;
}

/** Responders that are kept: names come from requests, so their number is not ours. */
const maxKept = 100;

/** The models that can be asked, made when they are first asked for. */
export class ResponderRegistry implements Responders {
  readonly standard: { readonly provider: string; readonly model: string };
  /** An Ollama that answers and was not taken without being named: it is not one's own. */
  readonly passedOver: FoundOllama | undefined;
  readonly #settings: ModelSettings;
  readonly #named: ModelSpec | undefined;
  #options: ModelOptions;
  #providers: readonly string[];
  readonly #kept = new Lru<string, Promise<Responder>>(maxKept);

  private constructor(given: RegistryOptions, standard: Responder, passedOver?: FoundOllama) {
    const { standard: named, allowed = [], settings, ...options } = given;
    const { provider, model } = standard;
    this.#providers = [...new Set([provider, ...allowed, "offline"])];
    this.passedOver = passedOver;
    this.standard = { provider, model };
    this.#settings = settings;
    this.#named = named;
    this.#options = options;
    this.#kept.set(keyOf(provider, model), Promise.resolve(standard));
  }

  /**
   * Settles what new periods run on. With `standard` nothing is asked of the network; without it,
   * only the local Ollama is asked what it offers.
   *
   * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: a key, package or price is missing or wrong.
   */
  static async open(given: RegistryOptions): Promise<ResponderRegistry> {
    const { standard, allowed, settings, ...options } = given;
    if (standard !== undefined) {
      const responder = await createResponder(standard, settings, options);
      return new ResponderRegistry(given, responder);
    }
    const { spec, fetch, passedOver } = await detectModel(settings, options);
    const responder = await createResponder(spec, settings, { ...options, fetch });
    return new ResponderRegistry({ ...given, fetch }, responder, passedOver);
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
    const made = createResponder(spec, this.#settings, this.#options);
    this.#kept.set(key, made);
    made.catch(() => this.#kept.delete(key)); // the caller gets the error
    return made;
  }

  /** With no model named, an Ollama of one's own may have started since. */
  async #lookForOllama(): Promise<void> {
    const isKnown = this.providers.includes("ollama") || this.passedOver !== undefined;
    if (this.#named !== undefined || isKnown) return;
    const { spec, fetch } = await detectModel(this.#settings, this.#options);
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
      const named = this.#named;
      if (named?.provider !== provider || named.model !== model) throw withoutUrl(model);
      return named;
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
  return misconfigured(
    `no address of the openai-compatible model ${model} is configured: name it at the start, as ` +
      "--model http://127.0.0.1:8080/v1#qwen3",
  );
}
