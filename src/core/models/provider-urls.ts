import type { ModelSettings } from "./providers.ts";

/** A setting that is empty is absent. */
export function optional(setting: string | undefined): string | undefined {
  const trimmed = setting?.trim();
  return trimmed === "" ? undefined : trimmed;
}

/** Where OpenAI's API is, without a slash at the end. */
export function openAiUrl({ openaiBaseUrl }: ModelSettings): string {
  return (optional(openaiBaseUrl) ?? "https://api.openai.com/v1").replace(/\/+$/, "");
}

/** Where Anthropic's API is: its own clients take the host alone, the AI SDK wants its `/v1`. */
export function anthropicUrl({ anthropicBaseUrl }: ModelSettings): string {
  const given = (optional(anthropicBaseUrl) ?? "https://api.anthropic.com").replace(/\/+$/, "");
  return /^https?:\/\/[^/]+$/i.test(given) ? `${given}/v1` : given;
}
