import {
  anObject,
  type Checks,
  checkArgument,
  type Defaults,
  having,
  resolveOptions,
} from "../options.ts";
import type { ModelSpec } from "./model-name.ts";
import { offlineResponder } from "./offline-responder.ts";
import { type Prices, priceOf } from "./prices.ts";
import { placeOf, providers, withoutRedirects } from "./providers.ts";
import type { Responder } from "./responder.ts";
import { type AskOptions, askChecks, askDefaults, type ModelSettings } from "./settings.ts";

export interface ModelOptions extends AskOptions {
  /** By `provider/model`; `openai-compatible/<model>` for a model named by URL. @default none */
  readonly prices?: Prices | undefined;
  /** How every request is sent. @default globalThis.fetch */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Whether what is said outlives this program, which the offline responder tells. @default true */
  readonly isKept?: boolean | undefined;
}

const defaults = {
  ...askDefaults,
  prices: undefined,
  fetch: undefined,
  isKept: true,
} as const satisfies Defaults<ModelOptions>;

const checks: Checks<ModelOptions> = askChecks;

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
  checkArgument(spec, "spec", having("what parseModelName returns", "provider"));
  checkArgument(settings, "settings", anObject);
  const options = resolveOptions("the options of models", given, defaults, checks);
  const { prices, fetch, isKept, ...ask } = options;
  if (spec.provider === "offline") return offlineResponder({ isKept });
  const { provider, model: modelId } = spec;
  const price = priceOf(prices, provider, modelId);
  const place = placeOf(spec, settings, fetch);
  const safe = { ...place, fetch: withoutRedirects(place.fetch) };
  // The AI SDK takes longer to load than all the rest: only who asks a model waits for it.
  const [{ aiSdkResponder }, model] = await Promise.all([
    import("./ai-sdk-responder.ts"),
    providers[provider].load(safe, modelId),
  ]);
  const takes = providers[provider].takes(place, modelId);
  return aiSdkResponder({ ...ask, provider, modelId, model, price, takes });
}
