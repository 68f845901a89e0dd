// What providers say that they offer.
import { isThroughlineError } from "../errors.ts";
import { isJsonObject, type JsonObject } from "../json.ts";
import {
  isChatModel,
  isModelName,
  type NamedProvider,
  type OfferedModel,
  providerName,
} from "./model-name.ts";
import { ollamaModels, ollamaUrl } from "./ollama.ts";
import { type ProviderModels, ResponderError } from "./responder.ts";
import { anthropicUrl, type ModelSettings, openAiUrl, optional } from "./settings.ts";

/** What is asked for a list: its own address, and no other. */
export type Listed = NamedProvider | { readonly baseUrl: string };

/** How long a provider may take to say what it offers, in milliseconds. */
const timeoutMs = 2_000;
const maxBytes = 8 * 1024 * 1024;
const maxModels = 1_000;

export type ListAnswer = Pick<ProviderModels, "models" | "error">;

/** Asks a provider for its list, with its own key. Never rejects. Takes at most 2 seconds. */
export async function askForList(
  listed: Listed,
  settings: ModelSettings,
  fetch: typeof globalThis.fetch,
): Promise<ListAnswer> {
  const name = providerName(typeof listed === "string" ? listed : "openai-compatible");
  if (listed === "bedrock") {
    const error = `${name} is not asked for its list: name a model as bedrock/<model>`;
    return { models: [], error };
  }
  try {
    const { url, headers, read } = requestOf(listed, settings);
    const signal = AbortSignal.timeout(timeoutMs);
    // A redirect would take the key to another address.
    const response = await fetch(url, { headers, signal, redirect: "error" });
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

interface ListRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** @returns `undefined`: this is no list. */
  readonly read: (body: JsonObject) => readonly OfferedModel[] | undefined;
}

/** @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: a key is missing, or an address is none. */
function requestOf(listed: Exclude<Listed, "bedrock">, settings: ModelSettings): ListRequest {
  if (listed === "ollama") {
    return { url: `${ollamaUrl(settings.ollamaHost)}/api/tags`, headers: {}, read: ollamaModels };
  }
  if (listed === "anthropic") {
    const key = optional(settings.anthropicApiKey) ?? "";
    const headers = { "x-api-key": key, "anthropic-version": "2023-06-01" };
    const url = `${anthropicUrl(settings)}/models?limit=1000`;
    return { url, headers, read: openAiModels };
  }
  const isOpenAi = listed === "openai";
  const key = optional(isOpenAi ? settings.openaiApiKey : settings.compatibleApiKey);
  const url = `${isOpenAi ? openAiUrl(settings) : listed.baseUrl}/models`;
  return {
    url,
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
    read: openAiModels,
  };
}

/** As OpenAI, Anthropic and servers with OpenAI's protocol have it. The newest first, where that is told. */
function openAiModels({ data }: JsonObject): readonly OfferedModel[] | undefined {
  if (!Array.isArray(data)) return undefined;
  const rows = data.filter(isJsonObject);
  const madeAt = ({ created }: JsonObject) => (typeof created === "number" ? created : 0);
  return rows
    .toSorted((a, b) => madeAt(b) - madeAt(a))
    .flatMap(({ id }) => (isModelName(id) && isChatModel(id) ? [{ model: id }] : []));
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
