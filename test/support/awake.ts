// Fixtures with a run of the companion.

import type { FactsFile } from "../../src/companion/commands/facts-file.ts";
import type { Companion as Run } from "../../src/companion/companion.ts";
import type { CompanionOptions } from "../../src/companion/options.ts";
import { type CompanionRun, companionRoutes, type OnPat } from "../../src/companion/routes.ts";
import { startCompanion } from "../../src/companion/start-companion.ts";
import type { Storage } from "../../src/core/storage/storage.ts";
import type { Throughline } from "../../src/core/throughline.ts";
import { type ProcessOptions, process } from "./cluster-world.ts";
import type { ScriptedStep } from "./scripted-responder.ts";
import { companion, type FixtureOptions } from "./server-fixture.ts";

interface Served {
  /** What is wrong with the emotions that somebody wrote, when they are read again. */
  readonly emotionProblems?: (() => readonly string[]) | undefined;
  readonly onPat?: OnPat | undefined;
  /** The facts that people may edit. They are what the companion remembers. */
  readonly facts?: FactsFile | undefined;
}

export interface AwakeOptions extends Omit<FixtureOptions, "addFeatures">, Served {
  readonly awake?: CompanionOptions;
}

const runs = new WeakMap<Throughline, Run>();

/** For `addFeatures`: begins a run of the companion with these options, and serves it. */
export function awake(options: CompanionOptions = {}, served: Served = {}) {
  const { emotionProblems, onPat, facts } = served;
  return async (throughline: Throughline) => {
    const memory = facts && (() => facts.startupContext());
    const run = await startCompanion(throughline, { memory, ...options });
    runs.set(throughline, run);
    return [companionRoutes({ ...asRun(run, emotionProblems), facts }, onPat)];
  };
}

/** The run that `awake` began. */
export function runOf({ throughline }: { readonly throughline: Throughline }): Run {
  const run = runs.get(throughline);
  if (run === undefined) throw new TypeError("no run was begun here");
  return run;
}

/** A run as the routes take it. */
export function asRun(run: Run, problems: () => readonly string[] = () => []): CompanionRun {
  return { companion: run, emotionWarnings: problems, reloadEmotions: problems };
}

/** A companion that is up, over HTTP. */
export async function awakeCompanion(
  script: readonly (readonly ScriptedStep[])[] = [],
  options: AwakeOptions = {},
) {
  const { awake: given, emotionProblems, onPat, facts, ...rest } = options;
  const addFeatures = awake(given, { emotionProblems, onPat, facts });
  const c = await companion(script, { ...rest, addFeatures });
  return { ...c, run: runOf(c) };
}

/** One of several processes that share a companion. */
export async function awakeProcess(
  storage: Storage,
  options: ProcessOptions & { readonly awake?: CompanionOptions } = {},
) {
  const { awake: given, ...rest } = options;
  const started = await process(storage, { ...rest, addFeatures: awake(given) });
  return { ...started, run: runOf(started) };
}
