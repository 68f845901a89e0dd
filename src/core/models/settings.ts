// Settings of the providers, and how a model is asked.
import { byDefault, maybe, type Options, whole } from "../options.ts";

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

/** How a model is asked. Every limit of time holds for every request. */
export interface AskOptions {
  /**
   * The longest wait for the first word or tool call, in milliseconds, retries included. A sign that
   * the model is at work (thinking, a ping of the provider) starts it again.
   *
   * @default 120_000
   */
  readonly firstTokenTimeoutMs?: number | undefined;
  /**
   * The longest silence once the answer has begun, in milliseconds.
   *
   * @default 60_000
   */
  readonly idleTimeoutMs?: number | undefined;
  /**
   * The longest answer, in milliseconds, from the request to its end: for a model that never stops.
   *
   * @default 1_800_000
   */
  readonly totalTimeoutMs?: number | undefined;
  /**
   * How often a call that failed before its first byte is made again: on 408, 409, 429, 5xx and
   * connections that fail. Waits as long as `retry-after` says, else 2 s and then twice as long each
   * time. A provider that asks for more than a minute is not called again. Each wait is announced
   * through `ResponderRequest.onRetry`; `firstTokenTimeoutMs` bounds it all. 0 (never) to 10.
   *
   * @default 2
   */
  readonly maxRetries?: number | undefined;
  /** Context window in tokens. Unknown when absent: there is no built-in table. */
  readonly window?: number | undefined;
}

/** Past it, a timer of Node fires at once. */
const longestTimerMs = 2_147_483_647;

export const askOptions = {
  firstTokenTimeoutMs: byDefault(120_000, whole(1, longestTimerMs)),
  idleTimeoutMs: byDefault(60_000, whole(1, longestTimerMs)),
  totalTimeoutMs: byDefault(1_800_000, whole(1, longestTimerMs)),
  maxRetries: byDefault(2, whole(0, 10)),
  window: maybe(whole(1)),
} satisfies Options<AskOptions>;
