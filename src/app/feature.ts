// What the program takes from a feature. Each has a block in features.ts, or in a file that it lists.
import type { Command, Context, OpenOptions } from "../cli/command.ts";
import type { Checker } from "../cli/doctor/doctor.ts";
import type { Settings } from "../cli/settings.ts";
import type { Logger } from "../core/logger.ts";
import type { Storage } from "../core/storage/storage.ts";
import type { Telemetry } from "../core/telemetry.ts";
import type { Throughline } from "../core/throughline.ts";
import type { TurnsOptions } from "../core/turns/turns-options.ts";
import type { ServerFeature } from "../server/server.ts";

/** What the program gives its commands beside. */
export interface ProgramContext extends Context {
  /** Opens the memories with all features, for a program that asks no model: no run of the companion begins. */
  readonly openForTools: (settings: Settings, logger: Logger) => Promise<OpenedForTools>;
}

export interface OpenedForTools {
  readonly throughline: Throughline;
  readonly facts: Facts;
  close(): Promise<void>;
}

export type AddProgramCommand = (program: Command, context: ProgramContext) => void;

/** One feature of the program. What it leaves out it does not have. Its modules are loaded when they are needed. */
export interface Feature {
  /** In the order of the help. */
  readonly commands?: Readonly<Record<string, AddProgramCommand>>;
  /** What `doctor` looks at. */
  readonly check?: Checker;
  /** Opens what the settings name, in place of the files of a home. */
  readonly openStorage?: (settings: Settings, options: OpenOptions) => Promise<Storage>;
  /** What it traces with; `undefined`: this process was started without a tracer. */
  readonly telemetry?: (logger: Logger) => Promise<Telemetry | undefined>;
  /** A place in receipts that could not be reached but was notified, so that no command fails for it. */
  readonly notified?: () => Promise<string>;
  /** Without a start: what it keeps of a chat is removed with the chat, and nothing else happens. */
  readonly extend?: (throughline: Throughline) => Promise<void>;
  /** What it serves over HTTP without a start. @param facts from all features. */
  readonly routes?: Started["routes"];
  /** Begins what it does beside the chats. It ends when the `Throughline` is closed. */
  readonly start?: (throughline: Throughline, given: StartGiven) => Promise<Started>;
}

export interface StartGiven {
  readonly settings: Settings;
  /** Who answers: it may change. */
  readonly persona: () => string;
  readonly logger: Logger;
  /** The companion lives in this process: a run of it begins. */
  readonly beginsRun: boolean;
  /** From the features that were started before it. */
  readonly facts: Facts;
}

/** A feature that was started. */
export interface Started {
  readonly facts?: Facts;
  /** What models may do beside speaking. */
  readonly tools?: TurnsOptions["tools"];
  /** What it serves over HTTP. @param facts from all features. */
  readonly routes?: (facts: Facts) => Promise<ServerFeature>;
  /** Finishes what requests may wait for. */
  readonly finish?: () => Promise<unknown>;
  /** Ends what would hold the process. */
  readonly stop?: () => void;
}

/** What features know that others use: each is here if its feature is. */
export interface Facts {
  /** The id of this run of the companion. */
  readonly runId?: string;
  /** The mood in which the companion speaks now. */
  readonly mood?: () => string;
  /** Which words of a text hurt the companion. */
  readonly hurtful?: (text: string) => readonly string[];
  /** Calls back with the name of each person whom the companion sees. */
  readonly onPerson?: (listener: (name: string) => void) => void;
  /** Records a long pat. @returns the name of the package. */
  readonly recordPat?: (chatId: string | undefined) => string | undefined;
  /** Records what a model says it did that earned a reaction. @returns what the model is told. */
  readonly remember?: (
    skill: "remember_positively" | "remember_negatively",
    said: { readonly what: string; readonly trigger?: string | undefined },
  ) => Promise<string>;
}
