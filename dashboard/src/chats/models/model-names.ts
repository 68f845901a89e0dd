// Models as people read them.
import type { ModelList } from "../../api/openapi-types.ts";

/** A provider and its model, by the names that the server gives them. */
export interface Model {
  readonly provider: string;
  readonly model: string;
}

const builtIn = "Built-in responder (no model)";

const providers: Readonly<Record<string, string>> = {
  offline: builtIn,
  ollama: "Ollama",
  openai: "OpenAI",
  anthropic: "Anthropic",
  bedrock: "Amazon Bedrock",
  "openai-compatible": "OpenAI-compatible server",
};

export function providerName(provider: string): string {
  return Object.hasOwn(providers, provider) ? (providers[provider] ?? provider) : provider;
}

/** The provider and its model, once if both have the same name. */
export function modelName(of: {
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
}): string {
  const { provider = "", model = "" } = of;
  if (provider === "offline") return builtIn;
  const parts = [providerName(provider), model === provider ? "" : model];
  return parts.filter((part) => part !== "").join(" \u00b7 ");
}

export function isSameModel(a: Model | undefined, b: Model | undefined): boolean {
  return a?.provider === b?.provider && a?.model === b?.model;
}

export function isOffered(list: ModelList, { provider, model }: Model): boolean {
  const known = list.providers.find((each) => each.provider === provider);
  return known?.models.some((each) => each.model === model) ?? false;
}

/** "5.2 GB". */
export function sizeInWords(bytes: number): string {
  const isLarge = bytes >= 1e9;
  return `${(bytes / (isLarge ? 1e9 : 1e6)).toFixed(isLarge ? 1 : 0)} ${isLarge ? "GB" : "MB"}`;
}
