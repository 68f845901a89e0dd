// `throughline mcp`, the command that MCP clients start.
import type { Command, Context } from "../../cli/command.ts";
import type { OpenMcp } from "./commands/mcp.ts";

/** @param open opens the home with all that keeps something of a chat. */
export function addMcpCommand(program: Command, context: Context, open: OpenMcp): void {
  program
    .command("mcp")
    .summary("Serve chats to an MCP client, over stdin and stdout.")
    .description(
      "Serve chats to an MCP client, over stdin and stdout, until the client ends. If `throughline serve` " +
        "has the home, every call goes to that server. Otherwise this opens the home itself.",
    )
    .takes("home", "store")
    .examples(
      [["mcp --home ~/.throughline", "for the configuration of an MCP client"]],
      `One process at a time can have a home. For several clients at once, run \`throughline serve\` too.`,
    )
    .action(async (flags) => {
      const { mcp } = await import("./commands/mcp.ts");
      await mcp(flags, context, open);
    });
}
