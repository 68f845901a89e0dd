import type { Context } from "../../cli/command.ts";
import { assertHomeExists } from "../../cli/home.ts";
import { openLog } from "../../cli/log.ts";
import { type Flags, resolveSettings, type Settings } from "../../cli/settings.ts";
import type { Throughline } from "../../core/throughline.ts";
import { openMemories } from "../open-companion.ts";

/**
 * Opens the memories of a home that is there, works with them, and lets go of them.
 *
 * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: there is neither a database nor a home; none is made.
 */
export async function withMemories<T>(
  flags: Flags,
  { env }: Context,
  work: (throughline: Throughline, settings: Settings) => Promise<T>,
): Promise<T> {
  const settings = resolveSettings(flags, env);
  if (settings.store === undefined) assertHomeExists(settings.home);
  const throughline = await openMemories(settings, openLog(settings.logLevel, "warn"));
  try {
    return await work(throughline, settings);
  } finally {
    await throughline.close();
  }
}
