import { invalid } from "../errors.ts";
import { aText, checkArgument, having } from "../options.ts";

/** Which model, before anything is known about keys: what `--model` and a chat's period name. */
export type ModelSpec =
  | { readonly provider: "offline"; readonly model: "offline" }
  | { readonly provider: NamedProvider; readonly model: string }
  | {
      readonly provider: "openai-compatible";
      readonly model: string;
      /** Of the server's OpenAI protocol, such as `http://127.0.0.1:8080/v1`; no slash at the end. */
      readonly baseUrl: string;
    };

export const namedProviders = ["ollama", "openai", "anthropic", "bedrock"] as const;
export type NamedProvider = (typeof namedProviders)[number];

const forms =
  "ollama/<model>, openai/<model>, anthropic/<model>, bedrock/<model>, " +
  "http(s)://<host>/v1#<model> or offline";

/**
 * Reads `provider/model` (the model's own name may hold `/` and `:`), `offline`, or the URL of any
 * server that speaks OpenAI's protocol with the model's name after `#`:
 * `http://127.0.0.1:8080/v1#qwen3`.
 *
 * A URL sends the conversation wherever it points: take one from the operator only, never from a
 * request.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`: none of these forms. A URL's text is not repeated
 * in the message, since people put passwords into URLs.
 */
export function parseModelName(name: string): ModelSpec {
  checkArgument(name, "name", aText);
  if (name === "offline") return { provider: "offline", model: "offline" };
  if (/^https?:\/\//i.test(name)) return parseUrl(name);
  const slash = name.indexOf("/");
  const provider = namedProviders.find((known) => known === name.slice(0, Math.max(0, slash)));
  if (provider === undefined) throw invalid(`a model is named ${forms}`);
  return { provider, model: checkModel(name.slice(slash + 1)) };
}

/** The name that `parseModelName` reads back as the same. */
export function modelName(spec: ModelSpec): string {
  checkArgument(spec, "spec", having("{ provider, model }", "provider"));
  if (spec.provider === "offline") return "offline";
  return "baseUrl" in spec
    ? `${spec.baseUrl}#${encodeURIComponent(spec.model)}`
    : `${spec.provider}/${spec.model}`;
}

function parseUrl(name: string): ModelSpec {
  const url = URL.canParse(name) ? new URL(name) : undefined;
  if (url === undefined || url.username !== "" || url.password !== "" || url.search !== "") {
    throw invalid("the URL of a model must be http(s)://<host>/<path>#<model>, without a password");
  }
  const baseUrl = url.origin + url.pathname.replace(/\/+$/, "");
  return { provider: "openai-compatible", model: checkModel(decode(url.hash.slice(1))), baseUrl };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    throw invalid("the model's name after # is not URL-encoded text", cause);
  }
}

function checkModel(model: string): string {
  if (isModelName(model)) return model;
  throw invalid("a model's name has 1 to 200 characters, none of them a space");
}

/** One model that can be chosen, with what its provider's list says about it. */
export interface OfferedModel {
  readonly model: string;
  /** What it takes on the disk of its server, in bytes. */
  readonly sizeBytes?: number | undefined;
  /** `true`: it takes pictures. Absent: not known. */
  readonly takesPictures?: boolean | undefined;
}

export function isModelName(name: unknown): name is string {
  return typeof name === "string" && /^[^\s\p{Cc}]{1,200}$/u.test(name);
}

/** What lists of models hold beside those for a chat: their names are all that tells. */
const otherKinds =
  /embed|\bbge\b|rerank|whisper|transcribe|\btts\b|dall-e|\bimage\b|\bsora\b|moderation|realtime|\baudio\b|babbage|davinci|turbo-instruct/i;

export function isChatModel(name: string): boolean {
  return !otherKinds.test(name);
}

const providerNames: Readonly<Record<string, string>> = {
  offline: "Built-in responder (no model)",
  ollama: "Ollama",
  openai: "OpenAI",
  anthropic: "Anthropic",
  bedrock: "Amazon Bedrock",
  "openai-compatible": "OpenAI-compatible server",
};

/** A provider as people are told of it. */
export function providerName(provider: string): string {
  return Object.hasOwn(providerNames, provider) ? (providerNames[provider] ?? provider) : provider;
}

/** A model as people read it: as `--model` takes it, but for the built-in responder, which is none. */
export function shownModel({ provider, model }: { provider: string; model: string }): string {
  if (provider === "offline") return providerName(provider);
  return model === "" || model === provider ? provider : `${provider}/${model}`;
}
