import type { Throughline } from "../core/throughline.ts";
import type { Context } from "./command.ts";
import { assertHomeExists } from "./home.ts";
import { openLog } from "./log.ts";
import { type Flags, resolveSettings, type Settings } from "./settings.ts";

/** The memories are open while the work runs. */
type MemoriesWork<T> = (throughline: Throughline, settings: Settings) => Promise<T>;

/**
 * Opens the memories of a home that exists, works with them and closes them.
 *
 * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: there is neither a database nor a home. None is made.
 */
export async function withMemories<T>(
  flags: Flags,
  context: Context,
  work: MemoriesWork<T>,
): Promise<T> {
  const settings = resolveSettings(flags, context.env);
  if (settings.store === undefined) assertHomeExists(settings.home);
  return openFor(settings, context, false, work);
}

/** The same, and makes the home if there is none yet, also beside a database. */
export async function withMadeHome<T>(
  flags: Flags,
  context: Context,
  work: MemoriesWork<T>,
): Promise<T> {
  return openFor(resolveSettings(flags, context.env), context, true, work);
}

async function openFor<T>(
  settings: Settings,
  { openMemories }: Context,
  makesHome: boolean,
  work: MemoriesWork<T>,
): Promise<T> {
  const logger = openLog(settings.logLevel, "warn");
  const throughline = await openMemories(settings, { logger, makesHome });
  try {
    return await work(throughline, settings);
  } finally {
    await throughline.close();
  }
}
