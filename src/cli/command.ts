import { readFileSync } from "node:fs";
import { Command as Base, InvalidArgumentError, Option } from "commander";
import { isThroughlineError } from "../core/errors.ts";
import type { Logger } from "../core/logger.ts";
import { parseModelName } from "../core/models/model-name.ts";
import type { Throughline } from "../core/throughline.ts";
import type { Environment } from "./env.ts";
import { assertHomeExists } from "./home.ts";
import type { Io } from "./io.ts";
import { openLog } from "./log.ts";
import type { Routes } from "./routes.ts";
import { type Flags, resolveSettings, type Settings } from "./settings.ts";
import { type SettingName, settings, textValue } from "./settings-table.ts";

/** What every command is given. */
export interface Context {
  readonly io: Io;
  readonly env: Environment;
  readonly version: string;
  /** Opens the memories that the settings name, for commands that ask no model. */
  readonly openMemories: (settings: Settings, options: OpenOptions) => Promise<Throughline>;
  /** Works with the routes of the server that has the home, else of this process. */
  readonly withRoutes: <T>(
    flags: Flags,
    /** @param isServed a server has the home: another process answers. */
    work: (routes: Routes, settings: Settings, isServed: boolean) => Promise<T>,
    prepare: Prepare,
  ) => Promise<T>;
}

/** Prepares memories that this process opened. @returns what adds the routes of features, for `createServer`. */
export type Prepare = (
  throughline: Throughline,
  settings: Settings,
) => Promise<readonly ((router: never) => () => void)[]>;

export interface OpenOptions {
  readonly logger: Logger;
  /** Make the home also beside a database, for what is kept in files there. @default false */
  readonly makesHome?: boolean | undefined;
}

/**
 * Opens the memories, works with them and closes them.
 *
 * @param makesHome makes the home if there is none yet, also beside a database. @default false
 * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: there is neither a database nor a home, and none is made.
 */
export async function withMemories<T>(
  flags: Flags,
  context: Context,
  work: (throughline: Throughline, settings: Settings) => Promise<T>,
  makesHome = false,
): Promise<T> {
  const settings = resolveSettings(flags, context.env);
  if (!makesHome && settings.store === undefined) assertHomeExists(settings.home);
  const logger = openLog(settings.logLevel, "warn");
  const throughline = await context.openMemories(settings, { logger, makesHome });
  try {
    return await work(throughline, settings);
  } finally {
    await throughline.close();
  }
}

/**
 * Adds one command to the program. What it does lies in a module of its own, loaded when it runs: help
 * is there at once.
 */
export type AddCommand = (program: Command, context: Context) => void;

/** The commands of a feature, by the word that a command line begins with. */
export type Commands = Readonly<Record<string, AddCommand>>;

/** A command that names the settings it takes, and shows examples of its use. */
export class Command extends Base {
  declare readonly commands: readonly Command[];

  override createCommand(name?: string): Command {
    return new Command(name);
  }

  /** Adds settings as options, in this order. */
  takes(...names: readonly (SettingName | "json")[]): this {
    for (const name of names) {
      this.addOption(name === "json" ? new Option("--json", "print JSON") : optionOf(name));
    }
    return this;
  }

  /** Adds settings to each command of this group: where the companion is. */
  eachTakes(...names: readonly (SettingName | "json")[]): void {
    for (const command of this.commands) command.takes(...names);
  }

  /** Adds examples under the help: what to type, and what it does. `note` stands below them. */
  examples(rows: readonly (readonly [line: string, says: string])[], note?: string): this {
    const width = Math.max(...rows.map(([line]) => line.length));
    const lines = rows.map(([line, says]) => `  throughline ${line.padEnd(width)}  ${says}`);
    const text = `\nExamples:\n${lines.join("\n")}`;
    return this.addHelpText("after", note === undefined ? text : `${text}\n\n${note}`);
  }
}

function optionOf(name: SettingName): Option {
  const { flag = "", help, form, standard, check } = settings[name];
  const says = form === undefined ? help : `${help}: ${form}`;
  const option = new Option(flag, standard === undefined ? says : `${says} (default: ${standard})`);
  if (!flag.includes(" ")) return option;
  if (name === "model") return option.argParser(model);
  return option.argParser((text) => {
    const value = textValue(name, text);
    if (check[1](value)) return value;
    throw new InvalidArgumentError(`It must be ${check[0]}.`);
  });
}

/** A whole number within bounds, for `argParser`. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (number >= min && number <= max) return number;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}

export function notEmpty(text: string): string {
  if (text.trim() === "") throw new InvalidArgumentError("It must not be empty.");
  return text;
}

function model(text: string) {
  try {
    return parseModelName(text);
  } catch (error) {
    if (!isThroughlineError(error)) throw error;
    // biome-ignore lint/style/useErrorCause: commander's error takes none, and the message says it all
    throw new InvalidArgumentError(`${error.message}.`);
  }
}

interface Package {
  readonly version: string;
}

/** What `package.json` says: two folders up from the sources and from what is built of them. */
export function ownPackage(): Package {
  const url = new URL("../../package.json", import.meta.url);
  return JSON.parse(readFileSync(url, "utf8")) as Package;
}
