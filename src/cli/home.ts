import { existsSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";
import type { Environment } from "./env.ts";
import { Failed } from "./failure.ts";

/**
 * Where the companion lives: `--home`, `THROUGHLINE_HOME`, else `~/.throughline`. Only where that is
 * absent and `XDG_DATA_HOME` is set, `$XDG_DATA_HOME/throughline`: a home that is there never moves.
 */
export function findHome(
  flag: string | undefined,
  env: Pick<Environment, "home" | "userHome" | "xdgDataHome">,
): string {
  const named = flag ?? env.home;
  if (named !== undefined) return resolve(named);
  const usual = join(env.userHome, ".throughline");
  const { xdgDataHome } = env;
  // The XDG specification has relative paths passed over.
  if (xdgDataHome === undefined || !isAbsolute(xdgDataHome) || existsSync(usual)) return usual;
  return join(xdgDataHome, "throughline");
}

/** @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: reading commands create no home. */
export function assertHomeExists(home: string): void {
  if (existsSync(home)) return;
  throw new Failed(`there is no home at ${home} yet`, {
    code: "THROUGHLINE_NOT_FOUND",
    wayOut: "Create one with `throughline chat`, or pass another --home.",
  });
}
