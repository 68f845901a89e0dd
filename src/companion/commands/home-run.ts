import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Settings } from "../../cli/settings.ts";
import type { Logger } from "../../core/logger.ts";
import type { Throughline } from "../../core/throughline.ts";
import { systemTimers } from "../../core/timers.ts";
import type { Companion } from "../companion.ts";
import { builtInEmotions } from "../emotion/built-in-emotions.ts";
import type { EmotionConfiguration } from "../emotion/configuration.ts";
import { EmotionsWatch, emotionsName } from "./emotions-file.ts";
import { FactsFile } from "./facts-file.ts";

type RunSettings = Pick<Settings, "home" | "freshness"> & Partial<Pick<Settings, "isEphemeral">>;

/**
 * Begins a run: facts and emotions come from the home, and are read again when somebody changes them.
 *
 * @throws ThroughlineError as `startCompanion` does.
 */
export async function beginRun(
  throughline: Throughline,
  { home, freshness, isEphemeral = false }: RunSettings,
  logger: Logger,
) {
  const facts = new FactsFile(home, logger, !isEphemeral);
  let companion: Companion | undefined;
  let problems: readonly string[] = [];
  const inForce = (own: EmotionConfiguration | undefined) => {
    problems = [];
    companion?.emotions.configure(own ?? builtInEmotions);
  };
  const path = join(home, emotionsName);
  const watch = new EmotionsWatch({
    path,
    timers: systemTimers,
    onChange: inForce,
    onProblem: (found) => {
      problems = found;
      tellProblems(logger, found, existsSync(path));
    },
  });
  try {
    // Loaded when it is needed: most commands begin no run.
    const { startCompanion } = await import("../start-companion.ts");
    companion = await startCompanion(throughline, {
      emotions: watch.configuration,
      timeZone: freshness.timeZone || undefined,
      memory: () => facts.startupContext(),
      pid: process.pid,
    });
  } catch (error) {
    watch.close();
    throw error;
  }
  return {
    companion,
    facts,
    /** What is wrong with the emotions that somebody wrote; empty: nothing is. */
    emotionWarnings: () => problems,
    /** Reads the emotions' file again, now. @returns what is wrong with it. */
    reloadEmotions: () => {
      watch.reload();
      return problems;
    },
    /** Watches the emotions' file no more. The companion itself is closed with its memories. */
    stop: () => watch.close(),
  };
}

function tellProblems(logger: Logger, problems: readonly string[], isThere: boolean): void {
  const [first] = problems;
  if (first !== undefined) {
    const fields = { problems: problems.length, first };
    logger.warn(fields, "emotions.yaml has errors; the emotions in use stay");
  } else if (isThere) logger.info({}, "emotions.yaml can be read again and is in use");
  else logger.info({}, "emotions.yaml is gone; the built-in emotions are in use");
}
