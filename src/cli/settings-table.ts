// Every setting of the program, once. Flags, the environment, the configuration file, the help and
// docs/reference/configuration.md are made of this.
import { type FreshnessOptions, freshnessOptions } from "../core/chat/freshness.ts";
import { workingMemoryOptions } from "../core/chat/working-memory.ts";
import { type NamedProvider, namedProviders } from "../core/models/model-name.ts";
import type { Prices } from "../core/models/prices.ts";
import type { ModelSettings } from "../core/models/settings.ts";
import { anObject, type Check, oneOf, whole } from "../core/options.ts";

/** The configuration file of a home. */
export const configName = "throughline.config.json";

export const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

interface Setting<T> {
  /** On the command line. */
  readonly flag?: string;
  /** In the environment. */
  readonly env?: string;
  /** In the configuration file. */
  readonly key?: string;
  readonly help: string;
  /** How a value looks, where `check` does not say it. */
  readonly form?: string;
  /** For people. @default none */
  readonly standard?: string;
  readonly check: Check;
  /** Of the text of a flag or a variable; one that cannot be read is left to `check`. */
  readonly read?: (text: string) => unknown;
  /** Never there: what a value is. */
  readonly type?: T;
}

const text: Check = [
  "text that is not empty",
  (value) => typeof value === "string" && value.trim() !== "",
];
export const onOrOff: Check = oneOf(true, false);

export const settings = {
  home: textSetting({
    flag: "--home <dir>",
    env: "THROUGHLINE_HOME",
    standard: "~/.throughline",
    help: "the companion's directory",
  }),
  store: textSetting({
    flag: "--store <url>",
    env: "THROUGHLINE_STORE",
    key: "store",
    standard: "files",
    form: "postgres://user@host/database?companion=name, or files for the home directory",
    help: "where messages are stored",
  }),
  model: textSetting({
    flag: "--model <name>",
    env: "THROUGHLINE_MODEL",
    key: "model",
    standard: "the built-in responder (offline)",
    form: "ollama/<model>, openai/<model>, anthropic/<model>, bedrock/<model>, http://<host>/v1#<model> or offline",
    help: "the model for new sessions",
  }),
  window: setting<number>({
    flag: "--window <tokens>",
    env: "THROUGHLINE_WINDOW",
    key: "window",
    check: whole(1),
    read: wholeOf,
    standard: "what the server says when a request is too long. Until then a history takes 24000",
    help: "the context window of the model, and of others of its provider",
  }),
  providers: setting<readonly NamedProvider[]>({
    key: "providers",
    check: listOf(namedProviders.join(", "), oneOf(...namedProviders), 10),
    help: "providers that may be asked, besides that of the model",
  }),
  persona: textSetting({
    key: "persona",
    standard: "the built-in persona",
    help: "who answers. persona.md in the home overrides it",
  }),
  companionName: textSetting({
    key: "companion_name",
    check: [
      "text of at most 200 characters",
      (value) => text[1](value) && `${value}`.length <= 200,
    ],
    help: 'the companion\'s name. People may then say it with a command, as in "stop, Nova"',
  }),
  host: textSetting({
    flag: "--host <address>",
    key: "host",
    standard: "127.0.0.1",
    help: "the address to listen on. Any other address than this machine's needs a token",
  }),
  port: setting<number>({
    flag: "--port <port>",
    env: "PORT",
    key: "port",
    check: whole(0, 65_535),
    read: wholeOf,
    standard: "7423",
    help: "the port to listen on. 0 picks a free port",
  }),
  hosts: setting<readonly string[]>({
    key: "hosts",
    check: listOf("names", text, 100),
    help: "names by which other machines call the server, such as nova.example",
  }),
  token: textSetting({
    env: "THROUGHLINE_TOKEN",
    help: "the server's token: requests need it, and commands send it",
  }),
  tokenFile: textSetting({
    flag: "--token-file <file>",
    env: "THROUGHLINE_TOKEN_FILE",
    key: "token_file",
    help: "the file with the server's token. A missing file is created",
  }),
  bucket: textSetting({
    env: "FEEDBACK_S3_BUCKET",
    help: "the bucket for feedback packages; without it they stay on this machine",
  }),
  storage: textSetting({
    env: "FEEDBACK_STORAGE",
    help: "local, local+s3, or s3, which uses the disk only if the bucket is unavailable",
  }),
  endpoint: textSetting({
    env: "AWS_ENDPOINT_URL_S3",
    help: "a service other than AWS for feedback packages",
  }),
  region: textSetting({ env: "AWS_REGION", help: "the region of the bucket, and of Bedrock" }),
  ephemeral: setting<boolean>({
    flag: "--ephemeral",
    check: onOrOff,
    help: "store nothing: everything is lost when the program ends",
  }),
  createBucket: setting<boolean>({
    flag: "--create-bucket",
    env: "THROUGHLINE_S3_CREATE_BUCKET",
    check: onOrOff,
    read: switchOf,
    help: "create the bucket if it does not exist",
  }),
  autoRecord: setting<boolean>({
    env: "FEEDBACK_AUTO_RECORD",
    key: "auto_record",
    check: onOrOff,
    read: switchOf,
    standard: "false",
    help: "record reactions by rule too: a long pat, and words that hurt",
  }),
  workingMemoryCapacity: setting<number>({
    key: "working_memory_capacity",
    check: workingMemoryOptions.capacity[0],
    standard: `${workingMemoryOptions.capacity[1]}`,
    help: "how many interactions each chat's working memory holds",
  }),
  keepPhotoMetadata: setting<boolean>({
    key: "keep_photo_metadata",
    check: onOrOff,
    read: switchOf,
    standard: "false",
    help: "keep what a camera writes beside a picture: place, device, time",
  }),
  prices: setting<Prices>({
    key: "prices",
    check: anObject,
    form: "an object by provider/model, each with input_per_million_usd, output_per_million_usd and optionally cached_input_per_million_usd",
    help: "what models cost",
  }),
  idleTimeoutMinutes: freshness("idleTimeoutMinutes", {
    key: "idle_timeout_minutes",
    help: "end the period after this many minutes without a message; 0 disables it",
  }),
  dailyReset: freshness("dailyReset", {
    key: "daily_reset_enabled",
    help: "a period ends once a day",
  }),
  dailyResetHour: freshness("dailyResetHour", {
    key: "daily_reset_hour",
    help: "the hour of the daily reset, in the user's zone",
  }),
  dailyResetQuietMinutes: freshness("dailyResetQuietMinutes", {
    key: "daily_reset_quiet_minutes",
    help: "the daily reset waits until the chat has been quiet for this many minutes",
  }),
  maxSessionMessages: freshness("maxSessionMessages", {
    key: "max_session_messages",
    help: "a provider's session ends after so many messages; those of other providers continue. null: never",
  }),
  timeZone: freshness("timeZone", {
    key: "user_timezone",
    standard: "the machine's",
    help: "the zone of the daily reset and of the days in a restart notice",
  }),
  sessionAgeWarningHours: freshness("sessionAgeWarningHours", {
    key: "session_age_warning_hours",
    help: "from this age on, the person is told every ten messages how old the period is. 0: never",
  }),
  timeAwayMinutes: freshness("timeAwayMinutes", {
    key: "time_away_minutes",
    help: "tell the model how long the person was away, from this many minutes on; 0 disables it",
  }),
  logLevel: setting<LogLevel>({
    env: "LOG_LEVEL",
    check: oneOf(...logLevels),
    read: (said) => said.toLowerCase(),
    help: logLevels.join(", "),
  }),
};

export type SettingName = keyof typeof settings;

/** What one place says. */
export type Said = {
  readonly [N in SettingName]?: (typeof settings)[N]["type"] | undefined;
};

/** The variables with keys and addresses of models. */
export const modelVariables = {
  openaiApiKey: "OPENAI_API_KEY",
  openaiBaseUrl: "OPENAI_BASE_URL",
  anthropicApiKey: "ANTHROPIC_API_KEY",
  anthropicBaseUrl: "ANTHROPIC_BASE_URL",
  ollamaHost: "OLLAMA_HOST",
  compatibleApiKey: "THROUGHLINE_MODEL_KEY",
  awsRegion: "AWS_REGION",
  awsAccessKeyId: "AWS_ACCESS_KEY_ID",
  awsSecretAccessKey: "AWS_SECRET_ACCESS_KEY",
  awsSessionToken: "AWS_SESSION_TOKEN",
  awsBearerToken: "AWS_BEARER_TOKEN_BEDROCK",
  bedrockBaseUrl: "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
} as const satisfies Partial<Record<keyof ModelSettings, string>>;

/** What the text of a flag or a variable stands for, to be checked. */
export function textValue(name: SettingName, said: string): unknown {
  return settings[name].read?.(said) ?? said;
}

/** The settings that have a name in this place. */
export function settingsIn(place: "env" | "key"): readonly (readonly [SettingName, string])[] {
  return Object.entries(settings).flatMap(([name, setting]: [string, Setting<unknown>]) => {
    const said = setting[place];
    return said === undefined ? [] : [[name as SettingName, said] as const];
  });
}

function setting<T>(given: Setting<T>): Setting<T> {
  return given;
}

function textSetting(given: Omit<Setting<string>, "check"> & { check?: Check }): Setting<string> {
  return { check: text, ...given };
}

function freshness<N extends keyof FreshnessOptions>(
  name: N,
  given: Omit<Setting<FreshnessOptions[N]>, "check">,
): Setting<FreshnessOptions[N]> {
  const [check, standard] = freshnessOptions[name];
  return { check, standard: `${standard}`, ...given };
}

function listOf(names: string, [, fits]: Check, most: number): Check {
  return [
    `a list of ${names}`,
    (value) => Array.isArray(value) && value.length <= most && value.every(fits),
  ];
}

function wholeOf(said: string): unknown {
  return /^\d{1,12}$/.test(said) ? Number(said) : said;
}

function switchOf(said: string): unknown {
  if (/^(?:1|true|yes|on)$/i.test(said)) return true;
  return /^(?:0|false|no|off)$/i.test(said) ? false : said;
}
