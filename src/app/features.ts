// The features of the program. Without its lines here and its own file, the program is without the feature.

import type { Throughline } from "../core/throughline.ts";
import type { ServerFeature } from "../server/server.ts";
import { companion } from "./companion.ts";
import type { Facts, Feature, Started, StartGiven } from "./feature.ts";
import { interchange } from "./interchange.ts";
import { mcp } from "./mcp.ts";
import { moments } from "./moments.ts";
import { openai } from "./openai.ts";
import { opentelemetry } from "./opentelemetry.ts";
import { postgres } from "./postgres.ts";

/** In the order in which they are started, and of their commands in the help. */
export const features: readonly Feature[] = Object.values({
  postgres,
  companion,
  interchange,
  moments,
  mcp,
  openai,
  opentelemetry,
});

/** Starts every feature. @throws what the first that cannot start throws. */
export async function startFeatures(throughline: Throughline, given: Omit<StartGiven, "facts">) {
  const started: Started[] = [];
  const stop = () => {
    for (const each of started) each.stop?.();
  };
  let facts: Facts = {};
  try {
    for (const { start, routes } of features) {
      const each = start ? await start(throughline, { ...given, facts }) : { routes };
      started.push(each);
      facts = { ...facts, ...each.facts };
    }
  } catch (error) {
    stop();
    throw error;
  }
  return {
    tools: started.find(({ tools }) => tools !== undefined)?.tools,
    facts,
    /** What they serve beside the chats. */
    routes: async (): Promise<readonly ServerFeature[]> => {
      const adding = started.map((each) => each.routes).filter((routes) => routes !== undefined);
      return Promise.all(adding.map((routes) => routes(facts)));
    },
    finish: () => Promise.all(started.map(async (each) => each.finish?.())),
    stop,
  };
}
