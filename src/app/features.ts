// The features of the program. Without its block and its lines here, its file beside this one if it has one, and its
// folder, the program is without the feature.
import { addMcpCommand } from "../adapters/mcp/commands.ts";
import type { Checker } from "../cli/doctor/doctor.ts";
import { filesIn } from "../cli/store-location.ts";
import { errorName, isThroughlineError } from "../core/errors.ts";
import type { Throughline } from "../core/throughline.ts";
import { interchangeCommands } from "../interchange/commands.ts";
import type { ServerFeature } from "../server/server.ts";
import { companion } from "./companion.ts";
import type { Facts, Feature, Started, StartGiven } from "./feature.ts";
import { personaChecks } from "./home-persona.ts";
import { moments } from "./moments.ts";

const postgres: Feature = {
  check: async ({ store }) => {
    if (store === undefined) return { checks: [] };
    const { checkStore } = await import("../postgres/checks/store.ts");
    return { checks: await checkStore(store) };
  },
  openStorage: async ({ home, store }, { logger, makesHome: make = false }) => {
    const { openWholeStore } = await import("../postgres/commands/open-store.ts");
    return openWholeStore(store ?? filesIn(home), { logger, home: { path: home, make } });
  },
};

const interchange: Feature = {
  commands: interchangeCommands({
    moves: () => import("../postgres/commands/move.ts"),
    companion: () => import("../companion/companion-document.ts"),
  }),
  routes: async () => (await import("../interchange/routes.ts")).interchangeRoutes,
};

const mcp: Feature = {
  commands: {
    mcp: (program, context) =>
      addMcpCommand(program, context, async (settings, logger) => {
        const { facts, ...opened } = await context.openForTools(settings, logger);
        return { ...opened, remember: facts.remember };
      }),
  },
  routes: async ({ remember }) => (await import("../adapters/mcp/routes.ts")).mcpRoutes(remember),
};

/** The Conversations API of OpenAI. */
const openai: Feature = {
  routes: async () => (await import("../adapters/openai/routes.ts")).conversationRoutes(),
};

const opentelemetry: Feature = {
  telemetry: async (logger) => {
    // Where every copy of `@opentelemetry/api` 1.x finds the SDK that is registered.
    if (!Object.hasOwn(globalThis, Symbol.for("opentelemetry.js.api.1"))) return undefined;
    const { openTelemetry } = await import("../adapters/opentelemetry/open-telemetry.ts");
    try {
      return await openTelemetry();
    } catch (error) {
      if (!isThroughlineError(error, "THROUGHLINE_CONFIGURATION")) throw error;
      const says = "nothing is traced until: npm install @opentelemetry/api";
      logger.warn({ error: errorName(error) }, says);
      return undefined;
    }
  },
};

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

/** What `doctor` looks at, in the order of the output; a server looks only at what is stored. */
export async function checkers(isServed = false): Promise<readonly Checker[]> {
  const { homeChecks } = await import("../cli/doctor/home.ts");
  const stored = [homeChecks, personaChecks, ...features.flatMap(({ check = [] }) => check)];
  return isServed ? stored : [...stored, (await import("../cli/doctor/model.ts")).modelChecks];
}

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
