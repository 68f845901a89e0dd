import type { Throughline } from "../core/throughline.ts";
import type { Context } from "./command.ts";
import { assertHomeExists } from "./home.ts";
import { openLog } from "./log.ts";
import { type Flags, resolveSettings, type Settings } from "./settings.ts";

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
