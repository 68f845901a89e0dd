// A server with every feature, for what the API's description says of them.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openThroughline } from "../../src/core/throughline.ts";
import { momentsRoutes } from "../../src/moments/routes.ts";
import { startMoments } from "../../src/moments/start-moments.ts";
import { awakeCompanion } from "./awake.ts";
import type { FixtureOptions } from "./server-fixture.ts";

export async function everything(options: FixtureOptions = {}) {
  const home = mkdtempSync(join(tmpdir(), "throughline-everything-"));
  const throughline = await openThroughline({ home, provider: "scripted", model: "script-1" });
  const software = { name: "throughline", version: "0.0.0" };
  const moments = await startMoments(throughline, { sessionId: "a1b2c3d4", software });
  const features = [momentsRoutes(moments)];
  const c = await awakeCompanion([], { throughline, features, ...options });
  const close = async () => {
    await c.server.close();
    await throughline.close();
    rmSync(home, { recursive: true, force: true });
  };
  return { ...c, [Symbol.asyncDispose]: close };
}
