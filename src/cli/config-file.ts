import { join } from "node:path";
import { z } from "zod";
import { type FreshnessOptions, rulesFromConfig } from "../core/chat/freshness-options.ts";
import { isThroughlineError, ThroughlineError } from "../core/errors.ts";
import { issueLine } from "../core/issue-line.ts";
import { parseJson } from "../core/json.ts";
import { type NamedProvider, namedProviders } from "../core/models/model-name.ts";
import type { Prices } from "../core/models/prices.ts";
import { readOwnFile } from "./own-file.ts";

const usd = z.number().min(0).max(1e6);
const count = (max: number) => z.int().min(0).max(max);

const schema = () =>
  z.strictObject({
    model: z.string().min(1).optional(),
    providers: z.array(z.enum(namedProviders)).max(10).optional(),
    persona: z.string().min(1).optional(),
    companion_name: z.string().min(1).max(200).optional(),
    host: z.string().min(1).optional(),
    port: count(65_535).optional(),
    hosts: z.array(z.string().min(1)).max(100).optional(),
    token_file: z.string().min(1).optional(),
    store: z.string().min(1).optional(),
    auto_record: z.boolean().optional(),
    working_memory_capacity: z.int().min(1).max(1_000).optional(),
    prices: z
      .record(
        z.string(),
        z.strictObject({
          input_per_million_usd: usd,
          output_per_million_usd: usd,
          cached_input_per_million_usd: usd.optional(),
        }),
      )
      .optional(),
    // As the original named them. Their bounds are the rules' own: see `rulesFromConfig`.
    idle_timeout_minutes: z.number().optional(),
    daily_reset_enabled: z.boolean().optional(),
    daily_reset_hour: z.number().optional(),
    daily_reset_quiet_minutes: z.number().optional(),
    max_session_messages: z.number().nullable().optional(),
    user_timezone: z.string().optional(),
    session_age_warning_hours: z.number().optional(),
    time_away_minutes: z.number().optional(),
  });

type ConfigFile = z.infer<ReturnType<typeof schema>>;

/** `throughline.config.json` of a home, with its names translated. */
export interface Config {
  readonly model: string | undefined;
  /** Providers that may be asked beside that of the model. */
  readonly providers: readonly NamedProvider[] | undefined;
  readonly persona: string | undefined;
  readonly companionName: string | undefined;
  readonly host: string | undefined;
  readonly port: number | undefined;
  /** Further names that the server may be called by, as `companion.example:7423`. */
  readonly hosts: readonly string[] | undefined;
  readonly tokenFile: string | undefined;
  /** Where the memories are kept, as `--store`. */
  readonly store: string | undefined;
  /** Reactions are recorded by rule, too. */
  readonly autoRecord: boolean | undefined;
  /** Interactions that the working memory of each chat holds. */
  readonly workingMemoryCapacity: number | undefined;
  readonly prices: Prices | undefined;
  readonly freshness: FreshnessOptions;
}

export const configName = "throughline.config.json";

/**
 * Reads a home's configuration. A home without one has an empty one.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: it cannot be read, or holds an unknown key or
 * a bad value; the message names the file and the key.
 */
export function readConfig(home: string): Config {
  const path = join(home, configName);
  const text = readOwnFile(path);
  if (text === undefined) return configOf({});
  try {
    return toConfig(parseJson(text, path), path);
  } catch (cause) {
    if (!isThroughlineError(cause)) throw cause;
    const message = cause.message.startsWith(path) ? cause.message : `${path}: ${cause.message}`;
    throw wrong(message, cause);
  }
}

function toConfig(json: unknown, path: string): Config {
  const parsed = schema().safeParse(json);
  if (!parsed.success) {
    const issues = parsed.error.issues.map((issue) => issueLine(issue, "the file"));
    throw wrong(`${path}: ${issues.join("; ")}`);
  }
  rulesFromConfig(json);
  return configOf(parsed.data);
}

function configOf(file: ConfigFile): Config {
  return {
    model: file.model,
    providers: file.providers,
    persona: file.persona,
    companionName: file.companion_name,
    host: file.host,
    port: file.port,
    hosts: file.hosts,
    tokenFile: file.token_file,
    store: file.store,
    autoRecord: file.auto_record,
    workingMemoryCapacity: file.working_memory_capacity,
    prices: file.prices && toPrices(file.prices),
    freshness: {
      idleTimeoutMinutes: file.idle_timeout_minutes,
      dailyReset: file.daily_reset_enabled,
      dailyResetHour: file.daily_reset_hour,
      dailyResetQuietMinutes: file.daily_reset_quiet_minutes,
      maxSessionMessages: file.max_session_messages,
      timeZone: file.user_timezone,
      sessionAgeWarningHours: file.session_age_warning_hours,
      timeAwayMinutes: file.time_away_minutes,
    },
  };
}

function toPrices(prices: NonNullable<ConfigFile["prices"]>): Prices {
  const entries = Object.entries(prices).map(([name, price]) => {
    const translated = {
      inputPerMillionUsd: price.input_per_million_usd,
      outputPerMillionUsd: price.output_per_million_usd,
      cachedInputPerMillionUsd: price.cached_input_per_million_usd,
    };
    return [name, translated] as const;
  });
  return Object.fromEntries(entries);
}

function wrong(message: string, cause?: unknown): ThroughlineError {
  return new ThroughlineError(message, { code: "THROUGHLINE_CONFIGURATION", cause });
}
