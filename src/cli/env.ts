// The one place that reads the environment. Everything else is passed on from here.
import { homedir } from "node:os";
import type { ModelSettings } from "../core/models/settings.ts";
import { misconfigured } from "../core/options.ts";
import {
  configName,
  modelVariables,
  onOrOff,
  type Said,
  settings,
  settingsIn,
  textValue,
} from "./settings-table.ts";

/** What the environment says. A variable that is empty says nothing. */
export interface Environment extends Said {
  /** The user's own directory. */
  readonly userHome: string;
  readonly xdgDataHome: string | undefined;
  /** Keys and addresses of models. */
  readonly models: ModelSettings;
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
  const read = (name: string): string | undefined => {
    const value = variables[name]?.trim();
    if (value) return value;
    return name === "AWS_REGION" ? read("AWS_DEFAULT_REGION") : undefined;
  };
  const said = settingsIn("env").map(([name, variable]) => {
    const text = read(variable);
    const value = text === undefined ? undefined : textValue(name, text);
    const [wanted, fits] = settings[name].check;
    if (value !== undefined && !fits(value)) throw misconfigured(`${variable} must be ${wanted}`);
    return [name, value] as const;
  });
  const models = Object.entries(modelVariables).map(([name, variable]) => [name, read(variable)]);
  return {
    ...(Object.fromEntries(said) as Said),
    userHome,
    xdgDataHome: read("XDG_DATA_HOME"),
    models: Object.fromEntries(models) as ModelSettings,
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
export const variableHelp = [
  "Environment:",
  ...settingsIn("env").map(([name, variable]) => {
    const { help, flag, check } = settings[name];
    const shown = check === onOrOff ? `${variable}=1` : variable;
    return line(shown, flag === undefined ? help : `${help} (same as ${flag.split(" ")[0]})`);
  }),
  line("PGPASSWORD, PGPASSFILE", "the password for a postgres:// store, as for psql"),
  line("TZ, NO_COLOR, FORCE_COLOR", "as in other programs"),
  "  Keys and addresses of models; THROUGHLINE_MODEL_KEY is for one that is named by its URL. A key alone",
  "  does not allow its provider: name a model, or list the provider in the configuration file:",
  Object.values(modelVariables)
    .join(", ")
    .replace(/(.{1,90})(?: |$)/g, "\n    $1")
    .slice(1),
  `Options override the environment, which overrides <home>/${configName}.`,
].join("\n");

function line(name: string, help: string): string {
  const start = name.length > 22 ? `${name}\n${" ".repeat(26)}` : name.padEnd(24);
  return `  ${start}${help}`;
}
