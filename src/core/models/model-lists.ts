// What providers say that they offer.
import { isThroughlineError } from "../errors.ts";
import { isJsonObject } from "../json.ts";
import { providerName } from "./model-name.ts";
import { type Place, providers } from "./providers.ts";
import { type ProviderModels, ResponderError } from "./responder.ts";

/** How long a provider may take to say what it offers, in milliseconds. */
const timeoutMs = 2_000;
const maxBytes = 8 * 1024 * 1024;
const maxModels = 1_000;

export type ListAnswer = Pick<ProviderModels, "models" | "error">;

/** Asks a provider for its list, with its own key. Never rejects. Takes at most 2 seconds. */
export async function askForList(
  provider: keyof typeof providers,
  place: Place,
): Promise<ListAnswer> {
  const name = providerName(provider);
  try {
    // Its key or its package may be missing.
    if (provider !== "ollama") await providers[provider].load(place, "any");
    const request = providers[provider].list?.(place.settings);
    if (request === undefined) {
      const error = `${name} is not asked for its list: name a model as ${provider}/<model>`;
      return { models: [], error };
    }
    const { path, headers, read } = request;
    const url = `${providers[provider].url(place)}${path}`;
    const signal = AbortSignal.timeout(timeoutMs);
    // A redirect would take the key to another address.
    const response = await place.fetch(url, { headers, signal, redirect: "error" });
    if (!response.ok) {
      await response.body?.cancel();
      return { models: [], error: refusal(name, response.status) };
    }
    const body: unknown = JSON.parse(await bounded(response));
    const models = isJsonObject(body) ? read(body) : undefined;
    if (models === undefined) return { models: [], error: `${name} sent no list of models` };
    return { models: models.slice(0, maxModels) };
  } catch (error) {
    return { models: [], error: failure(name, error) };
  }
}

/** @throws Error there are more bytes than a list has. */
async function bounded(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new RangeError("too long");
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function refusal(name: string, status: number): string {
  const hint = status === 401 || status === 403 ? ": check its key" : "";
  return `${name} refused to list its models (HTTP ${status})${hint}`;
}

/** Never what the provider or the network said: that may repeat a key. */
function failure(name: string, error: unknown): string {
  if (isThroughlineError(error) || error instanceof ResponderError) return error.message;
  if (error instanceof DOMException && error.name === "TimeoutError") {
    return `${name} did not answer within ${timeoutMs / 1_000} seconds`;
  }
  if (error instanceof SyntaxError || error instanceof RangeError) {
    return `${name} sent no list of models`;
  }
  return `${name} cannot be reached`;
}
