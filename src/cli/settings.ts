import { join } from "node:path";
import { type FreshnessOptions, freshnessDefaults } from "../core/chat/freshness.ts";
import { isThroughlineError } from "../core/errors.ts";
import {
  type ModelSpec,
  type NamedProvider,
  namedProviders,
  parseModelName,
} from "../core/models/model-name.ts";
import type { ModelSettings } from "../core/models/settings.ts";
import { misconfigured } from "../core/options.ts";
import { configName, readConfig } from "./config-file.ts";
import type { Environment } from "./env.ts";
import { findHome, findPersona } from "./home.ts";
import { type Said, type SettingName, settings } from "./settings-table.ts";
import { type PostgresLocation, parsePostgresUrl } from "./store-location.ts";

/** What any command can be told; what is absent was not said. */
export interface Flags
  extends Pick<Said, "home" | "store" | "window" | "host" | "port" | "tokenFile" | "ephemeral"> {
  readonly model?: ModelSpec | undefined;
  /** Print JSON, for scripts. */
  readonly json?: boolean | undefined;
}

/** What a command runs on: flags before the environment, before the home's file, before defaults. */
export interface Settings extends Omit<Said, "home" | "store" | "model" | "persona" | "ephemeral"> {
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
  readonly freshness: FreshnessOptions;
  /** As it was at the start: `HomePersona` reads it again. */
  readonly persona: string;
  /** Who answers where the home has no `persona.md`. */
  readonly configuredPersona: string | undefined;
}

/**
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: a value cannot be used; the message says
 * where it stands.
 */
export function resolveSettings(flags: Flags, env: Environment): Settings {
  const home = findHome(flags.home, env);
  const config = readConfig(home);
  const texts = textsIn(env, config, home);
  const said = firstSaid(flags as Said, env, config);
  const freshness = Object.keys(freshnessDefaults).map((name) => [name, said[name as SettingName]]);
  return {
    ...said,
    home,
    isEphemeral: flags.ephemeral ?? false,
    store: storeFrom(flags, texts),
    model: flags.model ?? modelFrom(texts),
    allowed: allowedBy(config, env.model),
    models: env.models,
    freshness: Object.fromEntries(freshness) as FreshnessOptions,
    persona: findPersona(home, config.persona),
    configuredPersona: config.persona,
  };
}

/** Of each setting what the first place says that says something. */
function firstSaid(...places: readonly Said[]): Said {
  const said = Object.keys(settings).map((name) => {
    const values = places.map((place) => place[name as SettingName]);
    return [name, values.find((value) => value !== undefined)] as const;
  });
  return Object.fromEntries(said);
}

/** Where the memories are; the word `files` undoes what a place further down says. */
function storeFrom({ store, ephemeral }: Flags, said: Texts): PostgresLocation | undefined {
  const [text, place] = store === undefined ? said("store") : [store, "--store"];
  if (ephemeral || text === undefined || text === "files") return undefined;
  return parsePostgresUrl(text, place);
}

function modelFrom(said: Texts): ModelSpec | undefined {
  const [name, place] = said("model");
  try {
    return name === undefined ? undefined : parseModelName(name);
  } catch (cause) {
    if (!isThroughlineError(cause)) throw cause;
    throw misconfigured(`${place}: ${cause.message}`, cause);
  }
}

/** What the environment says of a setting, else the file, and the place, for messages. */
type Texts = (name: "store" | "model") => readonly [text: string | undefined, place: string];

function textsIn(env: Environment, config: Said, home: string): Texts {
  return (name) =>
    env[name] === undefined
      ? [config[name], `${join(home, configName)}: ${name}`]
      : [env[name], settings[name].env ?? name];
}

/** Those that the file lists, and those of the models that are named, also where another goes before. */
function allowedBy(config: Said, variable: string | undefined): readonly NamedProvider[] {
  const isNamed = (provider: NamedProvider) =>
    [variable, config.model].some((model) => model?.startsWith(`${provider}/`));
  const isListed = (provider: NamedProvider) => config.providers?.includes(provider) ?? false;
  return namedProviders.filter((provider) => isListed(provider) || isNamed(provider));
}
