// The providers of models: how each is reached, what it lists, and which files its models take.
import { kindOf } from "../chat/attachments.ts";
import { isThroughlineError } from "../errors.ts";
import { isJsonObject, type JsonObject } from "../json.ts";
import { misconfigured } from "../options.ts";
import type { AiModel } from "./ai-sdk-responder.ts";
import {
  isChatModel,
  isModelName,
  type ModelSpec,
  type NamedProvider,
  type OfferedModel,
  providerName,
} from "./model-name.ts";
import { unknownUsage } from "./prices.ts";
import { type ProviderModels, type Responder, ResponderError } from "./responder.ts";
import type { ModelSettings } from "./settings.ts";

type Fetch = typeof globalThis.fetch;

/** What of a model's name, the settings and the network a provider is asked with. */
export interface Place {
  readonly settings: ModelSettings;
  /** Follows no redirect. */
  readonly fetch: Fetch;
  /** Of a server that is named by URL. */
  readonly baseUrl?: string | undefined;
}

interface Provider {
  /** Where it is, without a slash at the end. @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: no address. */
  url(place: Place): string;
  /**
   * Makes the AI SDK's model.
   *
   * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: a key is missing (the message names the environment
   *   variable) or the provider's package is not installed (the message names it).
   */
  load(place: Place, model: string): Promise<AiModel>;
  /** How it is asked for its models. @default it is not asked */
  list?(settings: ModelSettings): ListRequest;
  takes(place: Place, model: string): NonNullable<Responder["takes"]>;
}

interface ListRequest {
  /** Behind its `url`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** @returns `undefined`: this is no list. */
  readonly read: (body: JsonObject) => readonly OfferedModel[] | undefined;
}

const isPicture = (type: string) => kindOf({ type }) === "picture";
const pictures = () => isPicture;
const picturesAndPdf = () => (type: string) => isPicture(type) || kindOf({ type }) === "pdf";

export const providers: Readonly<Record<NamedProvider | "openai-compatible", Provider>> = {
  ollama: {
    url: ({ settings }) => ollamaUrl(settings.ollamaHost),
    load: (place, model) => compatible(place, "ollama", model),
    list: () => ({ path: "/api/tags", headers: {}, read: ollamaModels }),
    takes: picturesOfOllama,
  },
  openai: {
    url: ({ settings }) => trimmed(settings.openaiBaseUrl, "https://api.openai.com/v1"),
    async load(place, model) {
      const { settings, fetch } = place;
      const baseURL = providers.openai.url(place);
      const apiKey = required(settings.openaiApiKey, "OPENAI_API_KEY");
      const { createOpenAI } = await installed("@ai-sdk/openai", () => import("@ai-sdk/openai"));
      return createOpenAI({ apiKey, baseURL, fetch }).responses(model);
    },
    list: ({ openaiApiKey }) => openAiList(openaiApiKey),
    takes: picturesAndPdf,
  },
  anthropic: {
    /** Its own clients take the host alone, the AI SDK wants its `/v1`. */
    url({ settings }) {
      const given = trimmed(settings.anthropicBaseUrl, "https://api.anthropic.com");
      return /^https?:\/\/[^/]+$/i.test(given) ? `${given}/v1` : given;
    },
    async load(place, model) {
      const { settings, fetch } = place;
      const baseURL = providers.anthropic.url(place);
      const apiKey = required(settings.anthropicApiKey, "ANTHROPIC_API_KEY");
      const name = "@ai-sdk/anthropic";
      const { createAnthropic } = await installed(name, () => import("@ai-sdk/anthropic"));
      return createAnthropic({ apiKey, baseURL, fetch })(model);
    },
    list({ anthropicApiKey }) {
      const key = optional(anthropicApiKey) ?? "";
      const headers = { "x-api-key": key, "anthropic-version": "2023-06-01" };
      return { path: "/models?limit=1000", headers, read: openAiModels };
    },
    takes: picturesAndPdf,
  },
  bedrock: {
    url: ({ settings }) =>
      optional(settings.bedrockBaseUrl) ??
      `https://bedrock-runtime.${settings.awsRegion}.amazonaws.com`,
    async load({ settings, fetch }, model) {
      const region = required(settings.awsRegion, "AWS_REGION");
      const access = awsAccess(settings);
      const name = "@ai-sdk/amazon-bedrock";
      const { createAmazonBedrock } = await installed(name, () => import("@ai-sdk/amazon-bedrock"));
      const baseURL = optional(settings.bedrockBaseUrl);
      return createAmazonBedrock({ region, ...access, baseURL, fetch })(model);
    },
    takes: picturesAndPdf,
  },
  "openai-compatible": {
    url: ({ baseUrl = "" }) => baseUrl,
    load: (place, model) => compatible(place, "openai-compatible", model),
    list: ({ compatibleApiKey }) => openAiList(compatibleApiKey),
    takes: pictures,
  },
};

/** A setting that is empty is absent. */
function optional(setting: string | undefined): string | undefined {
  return setting?.trim() || undefined;
}

function trimmed(setting: string | undefined, standard: string): string {
  return (optional(setting) ?? standard).replace(/\/+$/, "");
}

export function placeOf(
  spec: ModelSpec,
  settings: ModelSettings,
  fetch: Fetch = globalThis.fetch,
): Place {
  const baseUrl = "baseUrl" in spec ? spec.baseUrl : undefined;
  return { settings, fetch: withoutRedirects(fetch), baseUrl };
}

/** Refuses a redirect: what people said, and a key, go to the address that was named, and to no other. */
function withoutRedirects(fetch: Fetch): Fetch {
  return async (input, init) => {
    const response = await fetch(input, { ...init, redirect: "manual" });
    if (response.status < 300 || response.status > 399) return response;
    await response.body?.cancel();
    const from = new URL(input instanceof Request ? input.url : String(input));
    const location = response.headers.get("location") ?? "";
    const to = URL.canParse(location, from.href) ? new URL(location, from).origin : "nowhere";
    const says = `${from.origin} redirects to ${to}. Nothing was sent there: name the right address`;
    throw new ResponderError(says, { kind: "refused", usage: unknownUsage });
  };
}

async function compatible(
  place: Place,
  name: "ollama" | "openai-compatible",
  model: string,
): Promise<AiModel> {
  const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
  const { fetch, settings } = place;
  const isOllama = name === "ollama";
  const baseURL = `${providers[name].url(place)}${isOllama ? "/v1" : ""}`;
  const apiKey = isOllama ? undefined : optional(settings.compatibleApiKey);
  return createOpenAICompatible({ name, baseURL, includeUsage: true, apiKey, fetch })(model);
}

function openAiList(setting: string | undefined): ListRequest {
  const key = optional(setting);
  const headers: Record<string, string> = key ? { authorization: `Bearer ${key}` } : {};
  return { path: "/models", headers, read: openAiModels };
}

/** As OpenAI, Anthropic and servers with OpenAI's protocol have it. The newest first, where that is told. */
function openAiModels({ data }: JsonObject): readonly OfferedModel[] | undefined {
  if (!Array.isArray(data)) return undefined;
  const madeAt = ({ created }: JsonObject) => (typeof created === "number" ? created : 0);
  return data
    .filter(isJsonObject)
    .toSorted((a, b) => madeAt(b) - madeAt(a))
    .flatMap(({ id }) => (isModelName(id) && isChatModel(id) ? [{ model: id }] : []));
}

/** An empty `apiKey` tells the provider not to look for one in the environment. */
function awsAccess(settings: ModelSettings) {
  const token = optional(settings.awsBearerToken);
  if (token !== undefined) return { apiKey: token };
  const { awsCredentials } = settings;
  if (awsCredentials !== undefined) return { apiKey: "", credentialProvider: awsCredentials };
  return {
    apiKey: "",
    accessKeyId: required(settings.awsAccessKeyId, "AWS_ACCESS_KEY_ID"),
    secretAccessKey: required(settings.awsSecretAccessKey, "AWS_SECRET_ACCESS_KEY"),
    sessionToken: optional(settings.awsSessionToken),
  };
}

function required(setting: string | undefined, variable: string): string {
  const value = optional(setting);
  if (value !== undefined) return value;
  throw misconfigured(`this model needs ${variable}, which is not set`);
}

/** Loads an optional peer, or says what to install. */
export async function installed<Module>(
  name: string,
  load: () => Promise<Module>,
): Promise<Module> {
  try {
    return await load();
  } catch (cause) {
    const missing =
      cause instanceof Error && "code" in cause && cause.code === "ERR_MODULE_NOT_FOUND";
    if (!missing) throw cause;
    throw misconfigured(`this model needs a package: npm install ${name}`, cause);
  }
}

/** How long a provider may take to say what it offers, in milliseconds. */
const listMs = 2_000;
const mostListBytes = 8 * 1024 * 1024;
const mostModels = 1_000;

/** Asks a provider for its list, with its own key. Never rejects. Takes at most 2 seconds. */
export async function askForList(
  provider: keyof typeof providers,
  place: Place,
): Promise<Pick<ProviderModels, "models" | "error">> {
  const name = providerName(provider);
  const { url, load, list } = providers[provider];
  try {
    // Its key or its package may be missing.
    if (provider !== "ollama") await load(place, "any");
    const request = list?.(place.settings);
    if (request === undefined) {
      throw misconfigured(`${name} is not asked for its list: name a model as ${provider}/<model>`);
    }
    const { path, headers, read } = request;
    const signal = AbortSignal.timeout(listMs);
    const response = await place.fetch(`${url(place)}${path}`, { headers, signal });
    if (!response.ok) {
      await response.body?.cancel();
      const hint = [401, 403].includes(response.status) ? ": check its key" : "";
      throw misconfigured(`${name} refused to list its models (HTTP ${response.status})${hint}`);
    }
    const body: unknown = JSON.parse(await bounded(response));
    const models = isJsonObject(body) ? read(body) : undefined;
    if (models === undefined) throw misconfigured(`${name} sent no list of models`);
    return { models: models.slice(0, mostModels) };
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
    if (bytes > mostListBytes) throw new RangeError("too long");
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** Never what the provider or the network said: that may repeat a key. */
function failure(name: string, error: unknown): string {
  if (isThroughlineError(error) || error instanceof ResponderError) return error.message;
  if (error instanceof DOMException && error.name === "TimeoutError") {
    return `${name} did not answer within ${listMs / 1_000} seconds`;
  }
  if (error instanceof SyntaxError || error instanceof RangeError) {
    return `${name} sent no list of models`;
  }
  return `${name} cannot be reached`;
}

/** How long an Ollama server may take to say what a model can do, in milliseconds. */
const showMs = 3_000;

/** Pictures, if Ollama says that the model has `vision`. It is asked until it answers. Source: its `POST /api/show`. */
function picturesOfOllama({ settings, fetch }: Place, model: string) {
  let known: unknown;
  return async (type: string, turn: AbortSignal) => {
    if (!isPicture(type)) return false;
    try {
      if (Array.isArray(known)) return known.includes("vision");
      const response = await fetch(`${ollamaUrl(settings.ollamaHost)}/api/show`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ model }),
        signal: AbortSignal.any([turn, AbortSignal.timeout(showMs)]),
      });
      const body: unknown = response.ok ? await response.json() : undefined;
      known = isJsonObject(body) ? body["capabilities"] : undefined;
    } catch {
      // Not there, or too slow: the turn itself says so, if it has to.
    }
    return Array.isArray(known) && known.includes("vision");
  };
}

/**
 * The address of an Ollama server, from what people put into OLLAMA_HOST: `host`, `host:port`,
 * `:port`, or a URL. The port is 11434, or the scheme's own where a URL names none. An address that
 * a server listens on everywhere (`0.0.0.0`, `::`) becomes the one to reach it at.
 *
 * Source: Ollama's own reading of the variable (envconfig, `Host`).
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: not an address.
 */
export function ollamaUrl(host = ""): string {
  const given = host.trim();
  const text = /^https?:\/\//i.test(given) ? given : `http://${withPort(given)}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.username !== "" || url.password !== "" || url.search !== "") {
    throw misconfigured("OLLAMA_HOST must be a host, host:port or http(s) URL");
  }
  if (url.hostname === "0.0.0.0") url.hostname = "127.0.0.1";
  if (url.hostname === "[::]") url.hostname = "[::1]";
  return url.origin + url.pathname.replace(/\/+$/, "");
}

/** Says whether an address that `ollamaUrl` gave is one of this machine's own. */
export function isOnThisMachine(url: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(url).hostname);
}

/** `host`, `:port` and the like with what is missing; an IPv6 address without brackets gets them. */
function withPort(given: string): string {
  const isIpv6 = !given.startsWith("[") && given.split(":").length > 2;
  const [, host, port, path] =
    /^(\[[^\]]*\]|[^:/@]*)(?::(\d+))?(\/.*)?$/.exec(isIpv6 ? `[${given}]` : given) ?? [];
  if (host === undefined) return "";
  return `${host === "" ? "127.0.0.1" : host}:${port ?? "11434"}${path ?? ""}`;
}

/** What `/api/tags` holds, in its order; `undefined`: this is not one. */
export function ollamaModels({ models }: JsonObject): readonly OfferedModel[] | undefined {
  if (!Array.isArray(models)) return undefined;
  return models.filter(isJsonObject).flatMap(({ name, size, details, capabilities }) => {
    const { family, families } = isJsonObject(details) ? details : {};
    // Models for embeddings are of BERT's kind, by Ollama's own word or by their name.
    if (!isModelName(name) || /bert/i.test(String(family ?? "")) || !isChatModel(name)) return [];
    const sees = [families, capabilities]
      .flat()
      .some((each) => /^(clip|mllama|vision)$/.test(`${each}`));
    const sizeBytes = typeof size === "number" && size > 0 ? size : undefined;
    return [{ model: name, sizeBytes, takesPictures: sees || undefined }];
  });
}
