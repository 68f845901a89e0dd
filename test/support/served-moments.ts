// A companion in a home that keeps moments, over HTTP.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  openThroughline,
  type Throughline,
  type ThroughlineOptions,
} from "../../src/core/throughline.ts";
import type { Moments } from "../../src/moments/moments.ts";
import type { MomentsOptions } from "../../src/moments/options.ts";
import { momentsRoutes } from "../../src/moments/routes.ts";
import type { ServerFeature } from "../../src/server/options.ts";
import { started } from "./moments-home.ts";
import { companion, type FixtureOptions } from "./server-fixture.ts";

export interface ServedMomentsOptions extends Omit<FixtureOptions, "addFeatures"> {
  /** @default a new one */
  readonly home?: string | undefined;
  /** @default nothing is agreed to */
  readonly moments?: Partial<MomentsOptions>;
  readonly ports?: Partial<ThroughlineOptions>;
  readonly addFeatures?: (
    throughline: Throughline,
    moments: Moments,
  ) => Promise<readonly ServerFeature[]>;
}

/** Starts it. It ends after the test, unless `end` was called before, and its home is removed. */
export async function servedMoments(
  t: { after(end: () => Promise<void>): void },
  script: Parameters<typeof companion>[0] = [["Knock, knock"]],
  options: ServedMomentsOptions = {},
) {
  const { home: given, moments: own, ports, addFeatures, features = [], ...rest } = options;
  const home = given ?? mkdtempSync(join(tmpdir(), "throughline-moments-"));
  const target = { provider: "scripted", model: "scripted" };
  const throughline = await openThroughline({ home, ...target, ...ports });
  const persona = "You are kind.";
  const moments = await started(throughline, { consent: undefined, persona, ...own });
  const c = await companion(script, {
    throughline,
    ...rest,
    features: [momentsRoutes(moments), ...features],
    addFeatures: async () => (await addFeatures?.(throughline, moments)) ?? [],
  });
  let ended: Promise<void> | undefined;
  const end = () => {
    ended ??= c.server.close().then(() => throughline.close());
    return ended;
  };
  t.after(async () => {
    await end();
    rmSync(home, { recursive: true, force: true });
  });
  return { ...c, home, moments, end };
}
