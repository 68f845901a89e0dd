// Which files a model reads, beside text.
import { kindOf } from "../chat/attachments.ts";
import { isJsonObject } from "../json.ts";
import type { ModelSpec } from "./model-name.ts";
import { ollamaUrl } from "./ollama.ts";
import type { Responder } from "./responder.ts";
import type { ModelSettings } from "./settings.ts";

/** How long an Ollama server may take to say what a model can do, in milliseconds. */
const showMs = 3_000;

/**
 * What the model of a name takes. OpenAI, Anthropic and Bedrock: pictures and PDF files. A server that speaks
 * OpenAI's protocol: pictures. Ollama: pictures, if it says that the model has `vision`; it is asked once, and
 * again as long as it did not answer.
 */
export function takesOf(
  { provider, model }: ModelSpec,
  settings: ModelSettings,
  fetch: typeof globalThis.fetch = globalThis.fetch,
): NonNullable<Responder["takes"]> {
  if (provider === "offline") return () => false;
  const isPicture = (type: string) => kindOf({ type }) === "picture";
  if (provider === "openai-compatible") return isPicture;
  if (provider !== "ollama") return (type) => isPicture(type) || kindOf({ type }) === "pdf";
  let hasVision: boolean | undefined;
  return async (type, signal) => {
    if (!isPicture(type)) return false;
    hasVision ??= await ollamaHasVision(ollamaUrl(settings.ollamaHost), model, { fetch, signal });
    return hasVision ?? false;
  };
}

/** Source: Ollama's API, `POST /api/show`. @returns `undefined`: it did not say. */
async function ollamaHasVision(
  baseUrl: string,
  model: string,
  how: { readonly fetch: typeof globalThis.fetch; readonly signal: AbortSignal },
): Promise<boolean | undefined> {
  try {
    const response = await how.fetch(`${baseUrl}/api/show`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model }),
      signal: AbortSignal.any([how.signal, AbortSignal.timeout(showMs)]),
      redirect: "error",
    });
    const body: unknown = response.ok ? await response.json() : undefined;
    const capabilities = isJsonObject(body) ? body["capabilities"] : undefined;
    return Array.isArray(capabilities) ? capabilities.includes("vision") : undefined;
  } catch {
    return undefined; // not there, or too slow: the turn itself says so, if it has to
  }
}
