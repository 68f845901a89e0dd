import { type Clock, keptFor, systemClock } from "../clock.ts";
import { invalid, type ThroughlineError } from "../errors.ts";
import { Lru } from "../lru.ts";
import {
  aFunction,
  anObject,
  byDefault,
  checkArgument,
  having,
  maybe,
  misconfigured,
  type Options,
  resolveOptions,
} from "../options.ts";
import {
  type ModelSpec,
  type NamedProvider,
  namedProviders,
  type OfferedModel,
  parseModelName,
} from "./model-name.ts";
import { offlineResponder } from "./offline-responder.ts";
import { type Prices, priceOf } from "./prices.ts";
import { askForList, isOnThisMachine, ollamaUrl, placeOf, providers } from "./providers.ts";
import type { ListOptions, ModelList, ProviderModels, Responder, Responders } from "./responder.ts";
import { type AskOptions, askOptions, type ModelSettings } from "./settings.ts";

export interface RegistryOptions extends ModelOptions {
  /** Context window, in tokens, of the models of the standard provider; of all if that is offline. */
  readonly window?: number | undefined;
  /** What a new period runs on. @default the offline responder */
  readonly standard?: ModelSpec | undefined;
  /** Providers that may be asked beside that of `standard`. A key alone allows none. @default none */
  readonly allowed?: readonly NamedProvider[] | undefined;
  readonly settings: ModelSettings;
  /** By which the age of a list is told. @default systemClock */
  readonly clock?: Clock | undefined;
}

const offline: ModelSpec = { provider: "offline", model: "offline" };

/** Responders that are kept: names come from requests, so their number is not ours. */
const maxKept = 100;
/** How long a list counts, in milliseconds. */
const keptMs = 60_000;

/** The models that can be asked, made when they are first asked for. */
export class ResponderRegistry implements Responders {
  readonly standard: { readonly provider: string; readonly model: string };
  /** What asks each provider for its list, once a minute. */
  readonly #lists = new Map<string, () => ReturnType<typeof askForList>>();
  readonly #given: RegistryOptions;
  readonly #options: ModelOptions;
  /** The providers that may be asked; what they are sent leaves this program, but for `offline`. */
  providers: readonly string[];
  readonly #kept = new Lru<string, Promise<Responder>>(maxKept);

  private constructor(given: RegistryOptions, standard: Responder, options: ModelOptions) {
    const { provider, model } = standard;
    this.#given = given;
    this.#options = options;
    this.providers = [...new Set([provider, ...(given.allowed ?? []), "offline"])];
    this.standard = { provider, model };
    this.#kept.set(keyOf(provider, model), Promise.resolve(standard));
  }

  /**
   * Settles what new periods run on. Asks nothing of the network.
   *
   * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: a key, package or price is missing or wrong.
   */
  static async open(given: RegistryOptions): Promise<ResponderRegistry> {
    checkArgument(given, "given", having("an object with settings", "settings"));
    const { standard = offline, allowed: _, settings, clock: __, ...options } = given;
    const responder = await createResponder(standard, settings, options);
    return new ResponderRegistry(given, responder, options);
  }

  /**
   * What can be chosen: for each provider that may be asked, the configured model and those of its own
   * list. A provider that does not answer within 2 seconds gives its `error`. A list is kept for a minute.
   *
   * @param options.again asks the providers also where lists are kept.
   * @param options.ollama looks for an Ollama on this machine, which is listed from then on.
   * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: OLLAMA_HOST is not an address.
   */
  async list(options: ListOptions = {}): Promise<ModelList> {
    const { again, ollama = false } = options;
    if (ollama) this.#allowOllama();
    const asked = this.providers.filter((provider) => provider !== "offline");
    const providers = await Promise.all(asked.map((provider) => this.#modelsOf(provider, again)));
    const { standard } = this;
    if (ollama && !asked.includes("ollama")) {
      providers.push({ provider: "ollama", models: [], error: notAllowed("ollama").message });
    }
    if (standard.provider === "offline") {
      providers.push({ provider: "offline", models: [{ model: "offline" }] });
    }
    return { standard, providers };
  }

  /**
   * @throws ThroughlineError `THROUGHLINE_INVALID`: no such provider, or no name of a model.
   * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: it is not set up; the message says what is
   * missing. Asked again, it is looked for again.
   */
  async get(provider: string, model: string): Promise<Responder> {
    if (provider === "ollama") this.#allowOllama();
    const spec = await this.#spec(provider, model);
    const key = keyOf(spec.provider, spec.model);
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    const { provider: own } = this.standard;
    const { settings } = this.#given;
    const window = [spec.provider, "offline"].includes(own) ? this.#options.window : undefined;
    const made = createResponder(spec, settings, { ...this.#options, window });
    this.#kept.set(key, made);
    made.catch(() => this.#kept.delete(key)); // the caller gets the error
    return made;
  }

  /** Lets an Ollama on this machine be asked, if no model was named at the start. Asks nothing. */
  #allowOllama(): void {
    const { standard: named, settings } = this.#given;
    if (named !== undefined || this.providers.includes("ollama")) return;
    if (!isOnThisMachine(ollamaUrl(settings.ollamaHost))) return;
    this.providers = [...this.providers, "ollama"];
  }

  /** The configured model of a provider, and its list, which counts for a minute. */
  async #modelsOf(provider: string, again = false): Promise<ProviderModels> {
    const { standard: named, settings, fetch, clock = systemClock } = this.#given;
    const own = named?.provider === provider ? named : undefined;
    const known = [...namedProviders, own?.provider].find((each) => each === provider);
    if (known === undefined || known === "offline") return { provider, models: [] };
    let ask = again ? undefined : this.#lists.get(provider);
    if (ask === undefined) {
      const spec = own ?? ({ provider: known, model: "any" } as ModelSpec);
      const place = placeOf(spec, settings, fetch);
      ask = keptFor(keptMs, clock, () => askForList(known, place));
      this.#lists.set(provider, ask);
    }
    const { models, error } = await ask();
    if (own === undefined) return { provider, models, error };
    // For Ollama a name without a tag is the newest one.
    const isOwn = ({ model }: OfferedModel) => [own.model, `${own.model}:latest`].includes(model);
    const first = { ...models.find(isOwn), model: own.model };
    return { provider, models: [first, ...models.filter((each) => !isOwn(each))], error };
  }

  async #spec(provider: string, model: string): Promise<ModelSpec> {
    // It has one model, and a period that comes from another provider brings another name.
    if (provider === "offline") return { provider, model: "offline" };
    if (provider === "openai-compatible") {
      // The address is the operator's alone: it decides where a conversation goes. A period that names
      // a model that is not there ran at another address.
      const { standard: named } = this.#given;
      if (named?.provider !== provider) throw withoutUrl(model);
      if (named.model === model) return named;
      // One that was asked before is there, also while the server is too busy for its list.
      if (this.#kept.get(keyOf(provider, model)) === undefined) {
        const { models } = await this.#modelsOf(provider);
        if (!models.some((each) => each.model === model)) throw withoutUrl(model);
      }
      return { provider, model, baseUrl: named.baseUrl };
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

export interface ModelOptions extends AskOptions {
  /** By `provider/model`; `openai-compatible/<model>` for a model named by URL. @default none */
  readonly prices?: Prices | undefined;
  /** How every request is sent. @default globalThis.fetch */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Whether what is said outlives this program, which the offline responder tells. @default true */
  readonly isKept?: boolean | undefined;
}

const declared = {
  ...askOptions,
  prices: maybe(anObject),
  fetch: maybe(aFunction),
  isKept: byDefault(true),
} satisfies Options<ModelOptions>;

/**
 * The responder for a model's name. Asks nothing of the network: a wrong key shows at the first turn.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: a key, package or price is missing or wrong, or an
 *   option cannot be used.
 */
export async function createResponder(
  spec: ModelSpec,
  settings: ModelSettings,
  given: ModelOptions = {},
): Promise<Responder> {
  checkArgument(spec, "spec", having("what parseModelName returns", "provider"));
  checkArgument(settings, "settings", anObject);
  const { prices, fetch, isKept, ...ask } = resolveOptions(
    "the options of models",
    given,
    declared,
  );
  if (spec.provider === "offline") return offlineResponder({ isKept });
  const { provider, model: modelId } = spec;
  const price = priceOf(prices, provider, modelId);
  const place = placeOf(spec, settings, fetch);
  // The AI SDK takes longer to load than all the rest: only who asks a model waits for it.
  const [{ aiSdkResponder }, model] = await Promise.all([
    import("./ai-sdk-responder.ts"),
    providers[provider].load(place, modelId),
  ]);
  const takes = providers[provider].takes(place, modelId);
  return aiSdkResponder({ ...ask, provider, modelId, model, price, takes });
}
