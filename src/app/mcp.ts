// MCP in the program. Deleting this file, its lines in features.ts, and src/adapters/mcp/ leaves a program
// without it.
import { addMcpCommand } from "../adapters/mcp/commands.ts";
import type { Feature } from "./feature.ts";

export const mcp: Feature = {
  commands: {
    mcp: (program, context) =>
      addMcpCommand(program, context, async (settings, logger) => {
        const { facts, ...opened } = await context.openForTools(settings, logger);
        return { ...opened, remember: facts.remember };
      }),
  },
  routes: async ({ remember }) => (await import("../adapters/mcp/routes.ts")).mcpRoutes(remember),
};
