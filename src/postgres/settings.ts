import { ThroughlineError } from "../core/errors.ts";
import type { Durability } from "../core/storage/storage.ts";
import type { Database } from "./database.ts";

const settings = `select current_setting('fsync') as fsync,
  current_setting('synchronous_commit') as synchronous_commit,
  current_setting('server_encoding') as encoding,
  current_setting('server_version_num')::int as version`;

/** The first version that waits for a server process that it was told to end. */
const oldestVersion = 140_000;

/**
 * Refuses a database that does not keep what it acknowledges, or that cannot hold what is said.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: it says which setting.
 */
export async function checkSettings(database: Database, durability: Durability): Promise<void> {
  const [found] = await database.query({ text: settings });
  if (found?.["encoding"] !== "UTF8") throw refused("the database's encoding must be UTF8");
  if (Number(found["version"]) < oldestVersion) throw refused("PostgreSQL must be 14 or later");
  if (durability === "process") return;
  const off = ["fsync", "synchronous_commit"].filter((setting) => found[setting] === "off");
  if (off.length === 0) return;
  throw refused(
    `${off.join(" and ")} off: a power cut takes what was acknowledged (durability "process")`,
  );
}

function refused(message: string): ThroughlineError {
  return new ThroughlineError(message, { code: "THROUGHLINE_CONFIGURATION" });
}
