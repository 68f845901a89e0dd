// The companion in the program. Deleting this file, its lines in features.ts, and src/companion/ leaves a program
// without it.
import type { Companion } from "../companion/companion.ts";
import type { Throughline } from "../core/throughline.ts";
import type { Facts, Feature } from "./feature.ts";

export const companion: Feature = {
  extend,
  async start(throughline, { settings, logger, beginsRun }) {
    if (!beginsRun) {
      await extend(throughline);
      return {};
    }
    const { beginRun } = await import("../companion/commands/home-run.ts");
    const run = await beginRun(throughline, settings, logger);
    return {
      facts: factsOf(run.companion),
      routes: async ({ recordPat }) => {
        const { companionRoutes } = await import("../companion/routes.ts");
        return companionRoutes(run, recordPat);
      },
      stop: run.stop,
    };
  },
};

async function extend(throughline: Throughline): Promise<void> {
  const { extendWithCompanion } = await import("../companion/start-companion.ts");
  await extendWithCompanion(throughline);
}

/** What moments keep of the companion. */
export function factsOf(run: Companion): Facts {
  return {
    runId: run.runId,
    mood: () => run.emotions.tone,
    hurtful: (text) => run.emotions.hurtful(text),
    onPerson: (listener) => {
      run.onChange((change) => {
        if (change.type === "person") listener(change.person.name);
      });
    },
  };
}
