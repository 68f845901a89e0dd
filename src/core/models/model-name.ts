import { invalid } from "../errors.ts";

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
  if (name === "offline") return { provider: "offline", model: "offline" };
  if (/^https?:\/\//i.test(name)) return parseUrl(name);
  const slash = name.indexOf("/");
  const provider = namedProviders.find((known) => known === name.slice(0, Math.max(0, slash)));
  if (provider === undefined) throw invalid(`a model is named ${forms}`);
  return { provider, model: checkModel(name.slice(slash + 1)) };
}

/** The name that `parseModelName` reads back as the same. */
export function modelName(spec: ModelSpec): string {
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
  if (/^[^\s\p{Cc}]{1,200}$/u.test(model)) return model;
  throw invalid("a model's name has 1 to 200 characters, none of them a space");
}
