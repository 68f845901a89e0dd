import type { Responder } from "../responder.ts";
import type { AiSdkResponderOptions } from "./ai-sdk-responder.ts";
import type { ModelSpec } from "./model-name.ts";
import { offlineResponder } from "./offline-responder.ts";
import { firstOllamaModel, ollamaUrl } from "./ollama.ts";
import { type Prices, priceOf } from "./prices.ts";
import type { ModelSettings } from "./providers.ts";

export interface CreateResponderOptions
  extends Omit<AiSdkResponderOptions, "provider" | "model" | "modelId" | "price"> {
  /** By `provider/model`; `openai-compatible/<model>` for a model named by URL. @default none */
  readonly prices?: Prices;
  /** How every request is sent. @default globalThis.fetch */
  readonly fetch?: typeof globalThis.fetch;
  /** Whether what is said outlives this program, which the offline responder tells. @default true */
  readonly isKept?: boolean;
}

/**
 * The responder for a model's name. Asks nothing of the network: a wrong key shows at the first turn.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: a key, package or price is missing or wrong.
 */
export async function createResponder(
  spec: ModelSpec,
  settings: ModelSettings,
  options: CreateResponderOptions = {},
): Promise<Responder> {
  const { prices, fetch, isKept = true, ...rest } = options;
  if (spec.provider === "offline") return offlineResponder({ isKept });
  const { provider, model: modelId } = spec;
  const price = priceOf(prices, provider, modelId);
  // The AI SDK takes longer to load than all the rest: only who asks a model waits for it.
  const [{ aiSdkResponder }, { loadModel }] = await Promise.all([
    import("./ai-sdk-responder.ts"),
    import("./providers.ts"),
  ]);
  return aiSdkResponder({
    ...rest,
    provider,
    modelId,
    model: await loadModel(spec, settings, fetch),
    ...(price === undefined ? {} : { price }),
  });
}

export interface DetectOptions extends CreateResponderOptions {
  /**
   * How long an Ollama server may take to say what it offers, in milliseconds.
   *
   * @default 300
   */
  readonly timeoutMs?: number;
}

export const detectDefaults = { timeoutMs: 300 } as const;

/**
 * The responder for when no model is named: the first model of the Ollama server that answers at
 * `ollamaHost` (or 127.0.0.1:11434), else the offline one. Asks no one else.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: `ollamaHost` is not an address.
 */
export async function detectResponder(
  settings: ModelSettings,
  options: DetectOptions = {},
): Promise<Responder> {
  const { timeoutMs = detectDefaults.timeoutMs, ...rest } = options;
  const { fetch = globalThis.fetch } = rest;
  const model = await firstOllamaModel(ollamaUrl(settings.ollamaHost), fetch, timeoutMs);
  return createResponder(
    model === undefined ? { provider: "offline", model: "offline" } : { provider: "ollama", model },
    settings,
    rest,
  );
}
