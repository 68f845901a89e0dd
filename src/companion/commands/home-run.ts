import type { Settings } from "../../cli/settings.ts";
import type { Logger } from "../../core/logger.ts";
import type { Throughline } from "../../core/throughline.ts";
import { systemTimers } from "../../core/timers.ts";
import type { Companion } from "../companion.ts";
import { builtInEmotions } from "../emotion/built-in-emotions.ts";
import { EmotionsWatch } from "./emotions-file.ts";
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
  const emotions = new EmotionsWatch({
    home,
    timers: systemTimers,
    logger,
    onChange: (own) => companion?.emotions.configure(own ?? builtInEmotions),
  });
  try {
    // Loaded when it is needed: most commands begin no run.
    const { startCompanion } = await import("../start-companion.ts");
    const atFirst = emotions.configuration;
    companion = await startCompanion(throughline, {
      emotions: atFirst,
      timeZone: freshness.timeZone || undefined,
      memory: () => facts.startupContext(),
      pid: process.pid,
    });
    // It may have changed while the storage kept the start waiting.
    const { configuration } = emotions;
    if (configuration !== atFirst) companion.emotions.configure(configuration ?? builtInEmotions);
  } catch (error) {
    emotions.close();
    throw error;
  }
  return {
    companion,
    facts,
    emotionWarnings: () => emotions.problems,
    reloadEmotions: () => emotions.reload(),
    /** Watches the emotions' file no more. The companion itself is closed with its memories. */
    stop: () => emotions.close(),
  };
}
