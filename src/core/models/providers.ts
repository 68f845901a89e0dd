import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { misconfigured } from "../options.ts";
import type { AiModel } from "./ai-sdk-responder.ts";
import type { ModelSpec } from "./model-name.ts";
import { ollamaUrl } from "./ollama.ts";
import { unknownUsage } from "./prices.ts";
import { ResponderError } from "./responder.ts";
import {
  type AwsCredentials,
  anthropicUrl,
  type ModelSettings,
  openAiUrl,
  optional,
} from "./settings.ts";

type Fetch = typeof globalThis.fetch;
type Keyed = Exclude<ModelSpec, { provider: "offline" }>;

/**
 * The AI SDK's model for a name.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: a key is missing (the message names the
 * environment variable) or the provider's package is not installed (the message names it).
 */
export async function loadModel(
  spec: Keyed,
  settings: ModelSettings,
  fetch?: Fetch,
): Promise<AiModel> {
  const { provider, model } = spec;
  const shared = { fetch: withoutRedirects(fetch ?? globalThis.fetch) };
  if (provider === "openai") return openAi(model, settings, shared);
  if (provider === "anthropic") return anthropic(model, settings, shared);
  if (provider === "bedrock") return bedrock(model, settings, shared);
  const isUrl = provider === "openai-compatible";
  const apiKey = isUrl ? optional(settings.compatibleApiKey) : undefined;
  return createOpenAICompatible({
    name: provider,
    baseURL: isUrl ? spec.baseUrl : `${ollamaUrl(settings.ollamaHost)}/v1`,
    includeUsage: true,
    apiKey,
    ...shared,
  })(model);
}

interface Shared {
  readonly fetch: Fetch;
}

/** Refuses a redirect: what people said goes to the address that was named, and to no other. */
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

async function openAi(model: string, settings: ModelSettings, shared: Shared): Promise<AiModel> {
  const apiKey = required(settings.openaiApiKey, "OPENAI_API_KEY");
  const { createOpenAI } = await installed("@ai-sdk/openai", () => import("@ai-sdk/openai"));
  return createOpenAI({ apiKey, baseURL: openAiUrl(settings), ...shared }).responses(model);
}

async function anthropic(model: string, settings: ModelSettings, shared: Shared): Promise<AiModel> {
  const apiKey = required(settings.anthropicApiKey, "ANTHROPIC_API_KEY");
  const { createAnthropic } = await installed(
    "@ai-sdk/anthropic",
    () => import("@ai-sdk/anthropic"),
  );
  return createAnthropic({ apiKey, baseURL: anthropicUrl(settings), ...shared })(model);
}

async function bedrock(model: string, settings: ModelSettings, shared: Shared): Promise<AiModel> {
  const region = required(settings.awsRegion, "AWS_REGION");
  const access = awsAccess(settings);
  const { createAmazonBedrock } = await installed(
    "@ai-sdk/amazon-bedrock",
    () => import("@ai-sdk/amazon-bedrock"),
  );
  const baseURL = optional(settings.bedrockBaseUrl);
  return createAmazonBedrock({ region, ...access, baseURL, ...shared })(model);
}

/** An empty `apiKey` tells the provider not to look for one in the environment. */
function awsAccess(settings: ModelSettings): {
  apiKey: string;
  accessKeyId?: string;
  secretAccessKey?: string;
  sessionToken?: string;
  credentialProvider?: () => PromiseLike<AwsCredentials>;
} {
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
