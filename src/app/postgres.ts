// PostgreSQL in the program. Deleting this file, its lines in features.ts and interchange.ts, and
// src/postgres/ leaves a program that stores in files.
import { filesIn } from "../cli/store-location.ts";
import type { Feature } from "./feature.ts";

export const postgres: Feature = {
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
