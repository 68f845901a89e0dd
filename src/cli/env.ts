// The one place that reads the environment. Everything else is passed on from here.
import { homedir } from "node:os";
import { ThroughlineError } from "../core/errors.ts";
import type { ModelSettings } from "../core/models/providers.ts";

export const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

/** What the environment says. A variable that is empty says nothing. */
export interface Environment {
  /** The user's own directory. */
  readonly userHome: string;
  readonly xdgDataHome: string | undefined;
  readonly home: string | undefined;
  readonly store: string | undefined;
  readonly model: string | undefined;
  readonly token: string | undefined;
  readonly tokenFile: string | undefined;
  readonly port: number | undefined;
  readonly logLevel: LogLevel | undefined;
  /** Keys and addresses of models. */
  readonly models: ModelSettings;
  readonly feedback: Omit<FeedbackSettings, "autoRecord"> & {
    readonly autoRecord: boolean | undefined;
  };
}

/** Where packages of feedback go beside the home. */
export interface FeedbackSettings {
  /** Without one, nothing leaves the machine. */
  readonly bucket: string | undefined;
  readonly storage: string | undefined;
  readonly region: string | undefined;
  readonly endpoint: string | undefined;
  readonly createBucket: boolean;
  /** Also by rule: a long pat, and words that hurt. */
  readonly autoRecord: boolean;
}

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Reads it. `TZ`, `NO_COLOR` and `FORCE_COLOR` are not here: Node itself heeds them.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: a value cannot be used; names the variable.
 */
export function readEnvironment(
  variables: Variables = process.env,
  userHome = homedir(),
): Environment {
  const read = (name: string) => {
    const value = variables[name]?.trim();
    return value === "" ? undefined : value;
  };
  const isOn = (name: string) => booleanOf(name, read(name));
  return {
    userHome,
    xdgDataHome: read("XDG_DATA_HOME"),
    home: read("THROUGHLINE_HOME"),
    store: read("THROUGHLINE_STORE"),
    model: read("THROUGHLINE_MODEL"),
    token: read("THROUGHLINE_TOKEN"),
    tokenFile: read("THROUGHLINE_TOKEN_FILE"),
    port: portOf(read("PORT")),
    logLevel: logLevelOf(read("LOG_LEVEL")),
    feedback: {
      bucket: read("FEEDBACK_S3_BUCKET"),
      storage: read("FEEDBACK_STORAGE"),
      region: read("AWS_REGION") ?? read("AWS_DEFAULT_REGION"),
      endpoint: read("AWS_ENDPOINT_URL_S3"),
      createBucket: isOn("THROUGHLINE_S3_CREATE_BUCKET") ?? false,
      autoRecord: isOn("FEEDBACK_AUTO_RECORD"),
    },
    models: {
      openaiApiKey: read("OPENAI_API_KEY"),
      openaiBaseUrl: read("OPENAI_BASE_URL"),
      anthropicApiKey: read("ANTHROPIC_API_KEY"),
      anthropicBaseUrl: read("ANTHROPIC_BASE_URL"),
      ollamaHost: read("OLLAMA_HOST"),
      compatibleApiKey: read("THROUGHLINE_MODEL_KEY"),
      awsRegion: read("AWS_REGION") ?? read("AWS_DEFAULT_REGION"),
      awsAccessKeyId: read("AWS_ACCESS_KEY_ID"),
      awsSecretAccessKey: read("AWS_SECRET_ACCESS_KEY"),
      awsSessionToken: read("AWS_SESSION_TOKEN"),
      awsBearerToken: read("AWS_BEARER_TOKEN_BEDROCK"),
      bedrockBaseUrl: read("AWS_ENDPOINT_URL_BEDROCK_RUNTIME"),
    },
  };
}

/** Whether errors should tell where they happened. Never throws: it is asked when things went wrong. */
export function isDebugging(variables: Variables = process.env): boolean {
  return /^\s*(?:debug|trace)\s*$/i.test(variables["LOG_LEVEL"] ?? "");
}

/**
 * Lets 16 calls wait for the disk at once, where Node lets 4: with 200 chats at once that is 1.3 times as
 * many durable turns a second. A value that is set is kept. Call it before the first disk access.
 */
export function useMoreThreads(variables: NodeJS.Dict<string> = process.env): void {
  variables["UV_THREADPOOL_SIZE"] ??= "16";
}

/** Whether the command line or `NODE_OPTIONS` says how large V8's space for new objects may be. */
export function isYoungHeapSized(variables: NodeJS.Dict<string> = process.env): boolean {
  return [...process.execArgv, variables["NODE_OPTIONS"] ?? ""].some((text) => {
    return /semi[-_]space/.test(text);
  });
}

/** For the help: what may be set, and what it means. */
export const variableHelp = `Environment:
  THROUGHLINE_HOME        the companion's directory, same as --home
  THROUGHLINE_STORE       where messages are stored, same as --store
  PGPASSWORD, PGPASSFILE  the password for a postgres:// store, as for psql
  THROUGHLINE_MODEL       the model for new sessions, same as --model
  THROUGHLINE_TOKEN       the server's token; THROUGHLINE_TOKEN_FILE names a file that holds it
  PORT                    the server's port, same as --port
  OPENAI_API_KEY, OPENAI_BASE_URL, ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, OLLAMA_HOST,
  AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN,
  AWS_BEARER_TOKEN_BEDROCK, AWS_ENDPOINT_URL_BEDROCK_RUNTIME
                          keys and addresses of models. A key alone does not allow its provider:
                          name a model, or list the provider in the configuration file
  THROUGHLINE_MODEL_KEY   the key for a model that is named by its URL
  FEEDBACK_S3_BUCKET      the bucket for feedback packages; without it they stay on this machine
  FEEDBACK_STORAGE        local, local+s3, or s3, which uses the disk only if the bucket is unavailable
  FEEDBACK_AUTO_RECORD=1  also record reactions by rule: a long pat, and words that hurt
  AWS_ENDPOINT_URL_S3     a service other than AWS for feedback packages
  THROUGHLINE_S3_CREATE_BUCKET=1
                          create the bucket if it does not exist
  LOG_LEVEL               ${logLevels.join(", ")}
  TZ, NO_COLOR            as in other programs
Options override the environment, which overrides <home>/throughline.config.json.`;

function portOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port <= 65_535)) throw wrong("PORT must be a whole number from 0 to 65535");
  return port;
}

function booleanOf(name: string, text: string | undefined): boolean | undefined {
  if (text === undefined) return undefined;
  if (/^(?:1|true|yes|on)$/i.test(text)) return true;
  if (/^(?:0|false|no|off)$/i.test(text)) return false;
  throw wrong(`${name} must be 1 or 0, or one of true, false, yes, no, on, off`);
}

function logLevelOf(text: string | undefined): LogLevel | undefined {
  if (text === undefined) return undefined;
  const level = logLevels.find((known) => known === text.toLowerCase());
  if (level === undefined) throw wrong(`LOG_LEVEL must be one of ${logLevels.join(", ")}`);
  return level;
}

function wrong(message: string): ThroughlineError {
  return new ThroughlineError(message, { code: "THROUGHLINE_CONFIGURATION" });
}
