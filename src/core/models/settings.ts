// Settings of the providers, and where their APIs are.

/** Settings for models from the environment. The program that starts the process reads them. */
export interface ModelSettings {
  readonly openaiApiKey?: string | undefined;
  /** @default "https://api.openai.com/v1" */
  readonly openaiBaseUrl?: string | undefined;
  readonly anthropicApiKey?: string | undefined;
  /** With or without `/v1` at its end. @default "https://api.anthropic.com/v1" */
  readonly anthropicBaseUrl?: string | undefined;
  /** As Ollama reads OLLAMA_HOST. @default "127.0.0.1:11434" */
  readonly ollamaHost?: string | undefined;
  /** For a model named by URL. No other key is ever sent to one. */
  readonly compatibleApiKey?: string | undefined;
  readonly awsRegion?: string | undefined;
  readonly awsAccessKeyId?: string | undefined;
  readonly awsSecretAccessKey?: string | undefined;
  readonly awsSessionToken?: string | undefined;
  /** Bedrock's own key; it goes before the others. */
  readonly awsBearerToken?: string | undefined;
  /** For profiles, roles and machines' own credentials; it goes before the static ones. */
  readonly awsCredentials?: (() => PromiseLike<AwsCredentials>) | undefined;
  /** @default Bedrock's address in the region. */
  readonly bedrockBaseUrl?: string | undefined;
}

export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

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
