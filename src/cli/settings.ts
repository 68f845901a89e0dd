import { join } from "node:path";
import type { FreshnessOptions } from "../core/chat/freshness-options.ts";
import { isThroughlineError, ThroughlineError } from "../core/errors.ts";
import {
  type ModelSpec,
  type NamedProvider,
  namedProviders,
  parseModelName,
} from "../core/models/model-name.ts";
import type { Prices } from "../core/models/prices.ts";
import type { ModelSettings } from "../core/models/providers.ts";
import { type Config, configName, readConfig } from "./config-file.ts";
import type { Environment, FeedbackSettings, LogLevel } from "./env.ts";
import { findHome, findPersona } from "./home.ts";
import { type PostgresLocation, parsePostgresUrl } from "./store-location.ts";

/** What any command can be told about the companion; what is absent was not said. */
export interface Flags {
  readonly home?: string;
  readonly model?: ModelSpec;
  readonly ephemeral?: boolean;
  /** A `postgres://` URL, or `files` for the home. */
  readonly store?: string;
}

/** What a command runs on: flags before the environment, before the home's file, before defaults. */
export interface Settings {
  readonly home: string;
  /** Nothing is kept: the home is neither made nor written. */
  readonly isEphemeral: boolean;
  /** The database that holds the memories; `undefined`: the home does. */
  readonly store: PostgresLocation | undefined;
  /** What new sessions run on; `undefined`: what is found. */
  readonly model: ModelSpec | undefined;
  /** What else may be asked: the providers that the configuration names. A key alone allows none. */
  readonly allowed: readonly NamedProvider[];
  readonly models: ModelSettings;
  readonly prices: Prices | undefined;
  readonly freshness: FreshnessOptions;
  readonly persona: string;
  readonly companionName: string | undefined;
  readonly logLevel: LogLevel | undefined;
  readonly feedback: FeedbackSettings;
  readonly config: Config;
}

/**
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: a value cannot be used; the message says
 * where it stands.
 */
export function resolveSettings(flags: Flags, env: Environment): Settings {
  const home = findHome(flags.home, env);
  const config = readConfig(home);
  return {
    home,
    isEphemeral: flags.ephemeral ?? false,
    store: storeFrom(flags, env.store, config.store, join(home, configName)),
    model: flags.model ?? modelFrom(env.model, config.model, join(home, configName)),
    allowed: allowedBy(config, env.model),
    models: env.models,
    prices: config.prices,
    freshness: config.freshness,
    persona: findPersona(home, config.persona),
    companionName: config.companionName,
    logLevel: env.logLevel,
    feedback: {
      ...env.feedback,
      autoRecord: env.feedback.autoRecord ?? config.autoRecord ?? false,
    },
    config,
  };
}

/** Where the memories are; the word `files` undoes what a place further down says. */
function storeFrom(
  flags: Flags,
  variable: string | undefined,
  setting: string | undefined,
  configPath: string,
): PostgresLocation | undefined {
  if (flags.ephemeral) return undefined;
  const places = [
    [flags.store, "--store"],
    [variable, "THROUGHLINE_STORE"],
    [setting, `${configPath}: store`],
  ] as const;
  const [text, place] = places.find(([said]) => said !== undefined) ?? [];
  if (text === undefined || place === undefined || text === "files") return undefined;
  return parsePostgresUrl(text, place);
}

function modelFrom(
  variable: string | undefined,
  setting: string | undefined,
  configPath: string,
): ModelSpec | undefined {
  if (variable !== undefined) return parseNamed(variable, "THROUGHLINE_MODEL");
  return setting === undefined ? undefined : parseNamed(setting, `${configPath}: model`);
}

/** Those that the file lists, and those of the models that are named, also where another goes before. */
function allowedBy(config: Config, variable: string | undefined): readonly NamedProvider[] {
  const isNamed = (provider: NamedProvider) =>
    [variable, config.model].some((model) => model?.startsWith(`${provider}/`));
  const isListed = (provider: NamedProvider) => config.providers?.includes(provider) ?? false;
  return namedProviders.filter((provider) => isListed(provider) || isNamed(provider));
}

function parseNamed(name: string, place: string): ModelSpec {
  try {
    return parseModelName(name);
  } catch (cause) {
    if (!isThroughlineError(cause)) throw cause;
    throw new ThroughlineError(`${place}: ${cause.message}`, {
      code: "THROUGHLINE_CONFIGURATION",
      cause,
    });
  }
}
