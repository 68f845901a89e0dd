import { amount, type Defaults, resolveOptions } from "../options.ts";
import { type AskOptions, askChecks, askDefaults } from "./ask-options.ts";
import { type ListenerOwner, listenerOwner } from "./listener-owner.ts";
import type { ModelSpec } from "./model-name.ts";
import { offlineResponder } from "./offline-responder.ts";
import { firstOllamaModel, ollamaUrl } from "./ollama.ts";
import { type Prices, priceOf } from "./prices.ts";
import type { ModelSettings } from "./providers.ts";
import { type Responder, ResponderError } from "./responder.ts";

export interface ModelOptions extends AskOptions {
  /** By `provider/model`; `openai-compatible/<model>` for a model named by URL. @default none */
  readonly prices?: Prices | undefined;
  /** How every request is sent. @default globalThis.fetch */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Whether what is said outlives this program, which the offline responder tells. @default true */
  readonly isKept?: boolean | undefined;
  /** How long an Ollama server may take to say what it offers, in milliseconds. @default 300 */
  readonly timeoutMs?: number | undefined;
  /** Whose program listens at an address. @default what Linux says */
  readonly ownerOf?: ((url: string) => Promise<ListenerOwner>) | undefined;
}

const defaults = {
  ...askDefaults,
  prices: undefined,
  fetch: undefined,
  isKept: true,
  timeoutMs: 300,
  ownerOf: listenerOwner,
} as const satisfies Defaults<ModelOptions>;

function resolve(given: ModelOptions) {
  const checks = { ...askChecks, timeoutMs: amount("from 0") };
  return resolveOptions("the options of models", given, defaults, checks);
}

/**
 * The responder for a model's name. Asks nothing of the network: a wrong key shows at the first turn.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: a key, package or price is missing or wrong.
 */
export async function createResponder(
  spec: ModelSpec,
  settings: ModelSettings,
  given: ModelOptions = {},
): Promise<Responder> {
  const { prices, fetch, isKept, timeoutMs, ownerOf, ...ask } = resolve(given);
  if (spec.provider === "offline") return offlineResponder({ isKept });
  const { provider, model: modelId } = spec;
  const price = priceOf(prices, provider, modelId);
  // The AI SDK takes longer to load than all the rest: only who asks a model waits for it.
  const [{ aiSdkResponder }, { loadModel }, { takesOf }] = await Promise.all([
    import("./ai-sdk-responder.ts"),
    import("./providers.ts"),
    import("./takes.ts"),
  ]);
  return aiSdkResponder({
    ...ask,
    provider,
    modelId,
    model: await loadModel(spec, settings, fetch),
    price,
    takes: takesOf(spec, settings, fetch),
  });
}

/** An Ollama that answers. */
export interface FoundOllama {
  readonly url: string;
  readonly model: string;
  /** Only one of one's `own` is asked without being named. */
  readonly owner: ListenerOwner;
}

/**
 * The Ollama server at `ollamaHost` (or 127.0.0.1:11434). It is asked what it offers, and told nothing.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: `ollamaHost` is not an address.
 */
export async function findOllama(
  settings: ModelSettings,
  given: ModelOptions = {},
): Promise<FoundOllama | undefined> {
  const { fetch = globalThis.fetch, timeoutMs, ownerOf } = resolve(given);
  const url = ollamaUrl(settings.ollamaHost);
  const model = await firstOllamaModel(url, fetch, timeoutMs);
  if (model === undefined) return undefined;
  return { url, model, owner: await ownerOf(url) };
}

/** Why an Ollama that answers is not asked, and how it would be. */
export function passedOverNote({ url, model, owner }: FoundOllama): string {
  const place =
    owner === "other"
      ? `The Ollama at ${url} is run by another user`
      : owner === "elsewhere"
        ? `The Ollama at ${url} is on another machine`
        : `Which user runs the Ollama at ${url} is not known`;
  return `${place}, so nothing is sent to it unless it is named: --model ollama/${model}`;
}

/** What answers when no model is named. */
interface Detected {
  readonly spec: ModelSpec;
  /** How it is asked. */
  readonly fetch: typeof globalThis.fetch;
  /** An Ollama that is not taken without being named. */
  readonly passedOver?: FoundOllama | undefined;
}

/**
 * The first model of the Ollama server that answers, if it is this user's own or root's; else the
 * offline one. Asks no one else.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: `ollamaHost` is not an address.
 */
export async function detectModel(
  settings: ModelSettings,
  options: ModelOptions = {},
): Promise<Detected> {
  const { fetch = globalThis.fetch, ownerOf } = resolve(options);
  const found = await findOllama(settings, options);
  if (found?.owner !== "own") {
    return { spec: { provider: "offline", model: "offline" }, fetch, passedOver: found };
  }
  const { url, model } = found;
  return { spec: { provider: "ollama", model }, fetch: onlyOwn(url, ownerOf, fetch) };
}

/** The responder for when no model is named: see `detectModel`. */
export async function detectResponder(
  settings: ModelSettings,
  options: ModelOptions = {},
): Promise<Responder> {
  const { spec, fetch } = await detectModel(settings, options);
  return createResponder(spec, settings, { ...options, fetch });
}

/** Sends nothing to a server whose owner has changed: another user may have taken its port. */
function onlyOwn(
  url: string,
  ownerOf: (url: string) => Promise<ListenerOwner>,
  fetch: typeof globalThis.fetch,
): typeof globalThis.fetch {
  const { origin } = new URL(url);
  return async (input, init) => {
    const asked = new URL(input instanceof Request ? input.url : input);
    if (asked.origin !== origin) return fetch(input, init); // another provider
    const owner = await ownerOf(url);
    if (owner === "own" || owner === "none") return fetch(input, init);
    const says = `the Ollama at ${url} was not asked: another user's program listens there now`;
    throw new ResponderError(says, { kind: "refused" });
  };
}
