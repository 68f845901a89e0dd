import { isThroughlineError } from "../../core/errors.ts";
import { type ModelSpec, modelName, shownModel } from "../../core/models/model-name.ts";
import { placeOf, providers } from "../../core/models/providers.ts";
import { createResponder } from "../../core/models/registry.ts";
import type { ModelSettings } from "../../core/models/settings.ts";
import type { Settings } from "../settings.ts";
import { type Check, type Checker, check } from "./doctor.ts";

const timeoutMs = 3_000;

export const modelChecks: Checker = async (settings) => ({
  checks: [await checkModel(settings), checkProviders(settings)],
});

/**
 * Says whether the configured model could be asked. Sends a HEAD request to its address, without a key.
 */
export async function checkModel(
  { model, models, prices }: Pick<Settings, "model" | "models" | "prices">,
  fetch = globalThis.fetch,
): Promise<Check> {
  if (model === undefined) {
    return check("model", "ok", "no model is configured: the built-in responder answers");
  }
  try {
    await createResponder(model, models, { prices });
    const address = addressOf(model, models);
    if (address === undefined) return check("model", "ok", `${shownModel(model)} needs no network`);
    const name = modelName(model);
    return (await isReachable(address, fetch))
      ? check("model", "ok", `${name} is configured, and ${address} responds`)
      : check("model", "note", `${name} is configured, but ${address} cannot be reached`);
  } catch (error) {
    if (!isThroughlineError(error)) throw error;
    return check("model", "note", error.message);
  }
}

/** Which providers may be asked: nothing that a chat, a request or a key in the environment says adds one. */
export function checkProviders({ model, allowed }: Pick<Settings, "model" | "allowed">): Check {
  const named = model === undefined ? allowed : [model.provider, ...allowed];
  const clouds = [...new Set(named)].filter((provider) => provider !== "offline");
  const chosen = model === undefined ? ["an Ollama on this machine, once it is chosen"] : [];
  const list = [...clouds, ...chosen].join(", ");
  return list === ""
    ? check("providers", "ok", "no provider is allowed: the built-in responder answers")
    : check("providers", "ok", `only these providers are allowed: ${list}`);
}

/** Where a model is asked; `undefined`: it needs no network. */
export function addressOf(spec: ModelSpec, settings: ModelSettings): string | undefined {
  if (spec.provider === "offline") return undefined;
  const url = providers[spec.provider].url(placeOf(spec, settings));
  return URL.canParse(url) ? new URL(url).origin : url;
}

/** Any response will do, even a refusal. */
async function isReachable(address: string, fetch: typeof globalThis.fetch): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const response = await fetch(address, { method: "HEAD", redirect: "manual", signal });
    await response.body?.cancel();
    return true;
  } catch {
    return false; // no address, no answer, too slow: it cannot be asked
  }
}
