// `throughline serve --store` in a process of its own, but for leases that lapse sooner: what waits for
// them would take the tests 10 s each time. Ends at SIGTERM.
import { flushCompileCache } from "node:module";
import { parseArgs } from "node:util";
import { readEnvironment } from "../../../src/cli/env.ts";
import { openLog } from "../../../src/cli/log.ts";
import { resolveSettings } from "../../../src/cli/settings.ts";
import { parsePostgresUrl } from "../../../src/cli/store-location.ts";
import { beginRun } from "../../../src/companion/commands/home-run.ts";
import { companionRoutes } from "../../../src/companion/routes.ts";
import { ResponderRegistry } from "../../../src/core/models/registry.ts";
import { openThroughline } from "../../../src/core/throughline.ts";
import { openPool } from "../../../src/postgres/commands/open-pool.ts";
import { openPostgresStorage } from "../../../src/postgres/postgres.ts";
import { createServer } from "../../../src/server/server.ts";

const flag = { type: "string" } as const;
const { values } = parseArgs({
  args: process.argv.slice(3),
  options: { home: flag, port: flag, store: flag },
});
const { home = "", port, store = "" } = values;
const settings = resolveSettings({ home, store }, readEnvironment());
const logger = openLog(settings.logLevel, "info");
const location = parsePostgresUrl(store, "--store");
const { pool, end: endPool } = await openPool(location);
const { companion, durability } = location;
const leaseMs = Number(process.env["TEST_LEASE_MS"]);
const storage = await openPostgresStorage({ pool, companion, durability, leaseMs, logger });
const { model: standard, models } = settings;
const responders = await ResponderRegistry.open({
  settings: models,
  ...(standard === undefined ? {} : { standard }),
});
const throughline = await openThroughline({ storage, logger, ...responders.standard });
const run = await beginRun(throughline, settings, logger);
const { persona } = settings;
const turns = await throughline.turns({ model: responders, persona });
const server = createServer({
  throughline,
  turns,
  features: [companionRoutes(run)],
  logger,
  version: "0.0.0",
});
const { url } = await server.listen({ host: "127.0.0.1", port: Number(port) });
process.stdout.write(`A server is listening on ${url}\n`);
flushCompileCache(); // it may be killed
const end = async () => {
  await server.close();
  await turns.close(0);
  run.stop();
  await throughline.close();
  await endPool();
};
process.once("SIGTERM", () => void end());
