import { join } from "node:path";
import { type FreshnessOptions, freshnessOptions } from "../core/chat/freshness.ts";
import { isThroughlineError } from "../core/errors.ts";
import {
  type ModelSpec,
  type NamedProvider,
  namedProviders,
  parseModelName,
} from "../core/models/model-name.ts";
import type { Prices } from "../core/models/prices.ts";
import type { ModelSettings } from "../core/models/settings.ts";
import { maybe, misconfigured, resolveOptions } from "../core/options.ts";
import { number, object, optional, Place, record, type Shape } from "../core/shape.ts";
import type { Environment } from "./env.ts";
import { findHome } from "./home.ts";
import { readOwnFile } from "./own-file.ts";
import { configName, type Said, type SettingName, settings, settingsIn } from "./settings-table.ts";
import { type PostgresLocation, parsePostgresUrl } from "./store-location.ts";

/** What any command can be told; what is absent was not said. */
export interface Flags
  extends Pick<Said, "home" | "store" | "window" | "host" | "port" | "tokenFile" | "ephemeral"> {
  readonly model?: ModelSpec | undefined;
  /** Print JSON, for scripts. */
  readonly json?: boolean | undefined;
}

/** What a command runs on: flags before the environment, before the home's file, before defaults. */
export interface Settings extends Omit<Said, "home" | "store" | "model" | "ephemeral"> {
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
}

/**
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: a value cannot be used; the message says
 * where it stands.
 */
export function resolveSettings(flags: Flags, env: Environment): Settings {
  const home = findHome(flags.home, env);
  const config = readConfig(home);
  const said = firstSaid(flags as Said, env, config);
  const freshness = Object.keys(freshnessOptions).map((name) => [name, said[name as SettingName]]);
  /** Where what is said of it stands, if not on the command line. */
  const placeOf = (name: "store" | "model") =>
    env[name] === undefined ? `${join(home, configName)}: ${name}` : (settings[name].env ?? name);
  const { store } = flags.ephemeral ? {} : said;
  const storePlace = flags.store === undefined ? placeOf("store") : "--store";
  const model = env.model ?? config.model;
  const otherModel = () => model && within(placeOf("model"), () => parseModelName(model));
  return {
    ...said,
    home,
    isEphemeral: flags.ephemeral ?? false,
    // The word `files` undoes what a place further down says.
    store: store && store !== "files" ? parsePostgresUrl(store, storePlace) : undefined,
    model: flags.model ?? (otherModel() || undefined),
    allowed: allowedBy(config, env.model),
    models: env.models,
    freshness: Object.fromEntries(freshness) as FreshnessOptions,
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

/** Those that the file lists, and those of the models that are named, also where another goes before. */
function allowedBy(config: Said, variable: string | undefined): readonly NamedProvider[] {
  const isNamed = (provider: NamedProvider) =>
    [variable, config.model].some((model) => model?.startsWith(`${provider}/`));
  const isListed = (provider: NamedProvider) => config.providers?.includes(provider) ?? false;
  return namedProviders.filter((provider) => isListed(provider) || isNamed(provider));
}

const keys = settingsIn("key");
const options = Object.fromEntries(keys.map(([name, key]) => [key, maybe(settings[name].check)]));

/**
 * Reads a home's configuration. A home without one has an empty one.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: it cannot be read, or holds an unknown key or
 * a bad value; the message names the file and the key.
 */
export function readConfig(home: string): Said {
  const path = join(home, configName);
  const text = readOwnFile(path);
  if (text === undefined) return {};
  return within(path, () => {
    const file = resolveOptions("the file", jsonIn(text, path), options);
    const said = keys.map(([name, key]) => [name, file[key as keyof typeof file]] as const);
    const { prices: given, ...rest }: { readonly prices?: object } = Object.fromEntries(said);
    return { ...rest, prices: given && toPrices(given) };
  });
}

/** Parses a file, and names the line that is no JSON where the parser tells it. */
function jsonIn(text: string, path: string): object {
  try {
    return JSON.parse(text) as object;
  } catch (error) {
    const [, line] = /\(line (\d+)/.exec(String(error)) ?? [];
    // Without its cause, which quotes the file.
    throw misconfigured(`${line === undefined ? path : `${path}:${line}`}: it is not JSON`);
  }
}

const usd = number(0, 1e6);
const prices: Shape<Prices> = record(
  object({
    inputPerMillionUsd: ["input_per_million_usd", usd],
    outputPerMillionUsd: ["output_per_million_usd", usd],
    cachedInputPerMillionUsd: ["cached_input_per_million_usd", optional(usd)],
  }),
);

function toPrices(given: object): Prices {
  const at = new Place();
  const read = prices.read(given, at);
  const [problem] = at.problems;
  if (problem === undefined) return read;
  throw misconfigured(`prices.${problem.path.join(": ")} ${problem.says}`);
}

/** Names the place in what is wrong there. */
function within<T>(place: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (!isThroughlineError(cause)) throw cause;
    const { message } = cause;
    throw misconfigured(message.startsWith(place) ? message : `${place}: ${message}`, cause);
  }
}
