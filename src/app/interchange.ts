// Import and export in the program. Deleting this file, its lines in features.ts, and src/interchange/
// leaves a program without them.
import { interchangeCommands } from "../interchange/commands.ts";
import type { Feature } from "./feature.ts";

export const interchange: Feature = {
  commands: interchangeCommands({
    moves: () => import("../postgres/commands/move.ts"),
    companion: () => import("../companion/companion-document.ts"),
  }),
  routes: async () => (await import("../interchange/routes.ts")).interchangeRoutes,
};
