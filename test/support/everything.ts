// A server with every feature, for what the API's description says of them.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { doctorRoutes } from "../../src/app/doctor-routes.ts";
import { HomePersona } from "../../src/app/home-persona.ts";
import { personaRoutes } from "../../src/app/persona-routes.ts";
import { readEnvironment } from "../../src/cli/env.ts";
import { resolveSettings } from "../../src/cli/settings.ts";
import { FactsFile } from "../../src/companion/commands/facts-file.ts";
import { silentLogger } from "../../src/core/logger.ts";
import { openThroughline } from "../../src/core/throughline.ts";
import { interchangeRoutes } from "../../src/interchange/routes.ts";
import { momentsRoutes } from "../../src/moments/routes.ts";
import { startMoments } from "../../src/moments/start-moments.ts";
import { awakeCompanion } from "./awake.ts";
import type { FixtureOptions } from "./server-fixture.ts";

export async function everything(options: FixtureOptions = {}) {
  const home = mkdtempSync(join(tmpdir(), "throughline-everything-"));
  const throughline = await openThroughline({ home, provider: "scripted", model: "script-1" });
  const software = { name: "throughline", version: "0.0.0" };
  const moments = await startMoments(throughline, { sessionId: "a1b2c3d4", software });
  const persona = new HomePersona(
    { home, isEphemeral: false, persona: "You are kind." },
    silentLogger,
  );
  const settings = resolveSettings({ home }, readEnvironment({}, home));
  const doctor = doctorRoutes(settings, { version: software.version, hasToken: true });
  const features = [momentsRoutes(moments), interchangeRoutes, personaRoutes(persona), doctor];
  const facts = new FactsFile(home, silentLogger);
  const c = await awakeCompanion([], { throughline, features, facts, ...options });
  const close = async () => {
    await c.server.close();
    await throughline.close();
    rmSync(home, { recursive: true, force: true });
  };
  return { ...c, [Symbol.asyncDispose]: close };
}
