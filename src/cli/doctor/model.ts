import { isThroughlineError } from "../../core/errors.ts";
import { type ModelSpec, modelName, shownModel } from "../../core/models/model-name.ts";
import { placeOf, providers } from "../../core/models/providers.ts";
import { createResponder } from "../../core/models/registry.ts";
import type { ModelSettings } from "../../core/models/settings.ts";
import type { Settings } from "../settings.ts";
import type { Check, Checker } from "./check.ts";

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
  const id = "model";
  try {
    if (model === undefined) {
      const says = "no model is configured: the built-in responder answers";
      return { id, status: "ok", says };
    }
    const name = modelName(model);
    await createResponder(model, models, { prices });
    const address = addressOf(model, models);
    if (address === undefined)
      return { id, status: "ok", says: `${shownModel(model)} needs no network` };
    const answers = await isReachable(address, fetch);
    const says = answers
      ? `${name} is configured, and ${address} responds`
      : `${name} is configured, but ${address} cannot be reached`;
    return { id, status: answers ? "ok" : "note", says };
  } catch (error) {
    if (!isThroughlineError(error)) throw error;
    return { id, status: "note", says: error.message };
  }
}

/** Which providers may be asked: nothing that a chat, a request or a key in the environment says adds one. */
export function checkProviders({ model, allowed }: Pick<Settings, "model" | "allowed">): Check {
  const named = model === undefined ? allowed : [model.provider, ...allowed];
  const clouds = [...new Set(named)].filter((provider) => provider !== "offline");
  const chosen = model === undefined ? ["an Ollama on this machine, once it is chosen"] : [];
  const list = [...clouds, ...chosen];
  const says =
    list.length === 0
      ? "no provider is allowed: the built-in responder answers"
      : `only these providers are allowed: ${list.join(", ")}`;
  return { id: "providers", status: "ok", says };
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
