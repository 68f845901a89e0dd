// Throughline as an MCP server: the entry point `throughline/mcp`.
import { createMcpHandler } from "@modelcontextprotocol/server";
import { aName, maybe, must, type Options, resolveOptions } from "../../core/options.ts";
import type { Throughline } from "../../core/throughline.ts";
import type { Remember } from "./remember.ts";
import { serverOver } from "./server.ts";

export type { Remember };

export interface McpOptions {
  /** The version of the program that serves this: clients are shown it. */
  readonly version: string;
  /** Without it, the tools `remember_positively` and `remember_negatively` are not offered. */
  readonly remember?: Remember | undefined;
}

/** MCP over Streamable HTTP, for one route of a server. */
export interface McpHandler {
  /**
   * Answers one request. It keeps nothing between two: every request stands alone, so that any process that has
   * the chats can answer it. It looks at no token, no host and no origin: the server around it does.
   */
  fetch(request: Request): Promise<Response>;
  /** Ends what is under way. Whatever was answered is stored. */
  close(): Promise<void>;
}

const declared = { remember: maybe(), version: must(aName) } satisfies Options<McpOptions>;

/**
 * Serves chats to MCP clients, of the protocol 2025-11-25 and older and of 2026-07-28.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: an option cannot be used.
 */
export function mcpHandler(throughline: Throughline, options: McpOptions): McpHandler {
  const resolved = resolveOptions("the options of mcpHandler", options, declared);
  const { fetch, close } = createMcpHandler(serverOver(throughline, resolved));
  return { fetch: (request) => fetch(request), close };
}
