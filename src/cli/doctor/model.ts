import { isThroughlineError } from "../../core/errors.ts";
import { type ModelSpec, modelName, shownModel } from "../../core/models/model-name.ts";
import {
  createResponder,
  findOllama,
  type ModelOptions,
  passedOverNote,
} from "../../core/models/models.ts";
import { ollamaUrl } from "../../core/models/ollama.ts";
import type { ModelSettings } from "../../core/models/providers.ts";
import type { Settings } from "../settings.ts";
import type { Check, Checker } from "./check.ts";

const timeoutMs = 3_000;

export const modelChecks: Checker = async (settings) => ({
  checks: [await checkModel(settings), checkProviders(settings)],
});

/**
 * Whether the configured model could be asked. Sends a HEAD request to its address, without a key; with no model named, only at the local Ollama's.
 */
export async function checkModel(
  { model, models, prices }: Pick<Settings, "model" | "models" | "prices">,
  { fetch = globalThis.fetch, ...rest }: ModelOptions = {},
): Promise<Check> {
  const id = "model";
  try {
    if (model === undefined) return await found(models, { ...rest, fetch });
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
  const found = model === undefined ? "an Ollama that this user or root runs" : undefined;
  const list = [found, ...clouds].filter((each) => each !== undefined);
  const says =
    list.length === 0
      ? "no provider is allowed: the built-in responder answers"
      : `only these providers are allowed: ${list.join(", ")}`;
  return { id: "providers", status: "ok", says };
}

async function found(settings: ModelSettings, options: ModelOptions): Promise<Check> {
  const id = "model";
  const ollama = await findOllama(settings, { timeoutMs, ...options });
  if (ollama === undefined) {
    const says = "no model is configured and no Ollama was found: the built-in responder answers";
    return { id, status: "ok", says };
  }
  const { model, owner } = ollama;
  if (owner === "own") {
    return {
      id,
      status: "ok",
      says: `no model is configured: the local Ollama's ${model} answers`,
    };
  }
  return { id, status: "note", says: `no model is configured. ${passedOverNote(ollama)}` };
}

/** Where a model is asked; `undefined`: it needs no network. */
export function addressOf(spec: ModelSpec, settings: ModelSettings): string | undefined {
  switch (spec.provider) {
    case "offline":
      return undefined;
    case "openai-compatible":
      return new URL(spec.baseUrl).origin;
    case "ollama":
      return new URL(ollamaUrl(settings.ollamaHost)).origin;
    case "openai":
      return originOf(settings.openaiBaseUrl, "https://api.openai.com");
    case "anthropic":
      return originOf(settings.anthropicBaseUrl, "https://api.anthropic.com");
    case "bedrock":
      return originOf(
        settings.bedrockBaseUrl,
        `https://bedrock-runtime.${settings.awsRegion}.amazonaws.com`,
      );
  }
}

function originOf(configured: string | undefined, standard: string): string {
  return configured !== undefined && URL.canParse(configured)
    ? new URL(configured).origin
    : standard;
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
