// One MCP server over the memories: the tools and the resources, and what becomes of their errors.
import {
  type CallToolResult,
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
} from "@modelcontextprotocol/server";
import { errorName, isThroughlineError } from "../../core/errors.ts";
import type { Throughline } from "../../core/throughline.ts";
import { addResources } from "./resources.ts";
import { notice, resultSchema, type Tool, type ToolPorts, toolsFor, warning } from "./tools.ts";

const instructions =
  "Throughline keeps conversations: every message, and where each model left off. Find a chat with " +
  `session_list or session_search. ${warning}`;

/** Who this is, to clients. */
export function identity(version: string) {
  const info = { name: "throughline", title: "Throughline", version };
  return [info, { instructions }] as const;
}

/** @returns what makes a server for one connection, or for one request over HTTP. */
export function serverOver(
  throughline: Throughline,
  ports: ToolPorts & { readonly version: string },
): () => McpServer {
  const { logger } = throughline.ports;
  /** What may be said of an error. The message of one that is not ours may quote a chat. */
  const says = (error: unknown): string => {
    if (isThroughlineError(error)) return `${error.code}: ${error.message}`;
    logger.error({ error: errorName(error) }, "an MCP request failed");
    return `an unexpected ${errorName(error)}`;
  };
  const reading = <T>({ href }: URL, work: () => Promise<T>): Promise<T> =>
    work().catch((error: unknown) => {
      const { InvalidParams, InternalError } = ProtocolErrorCode;
      const message = says(error);
      const isTheirs = isThroughlineError(error, "THROUGHLINE_INVALID");
      // The errors of the protocol have no cause.
      throw isThroughlineError(error, "THROUGHLINE_NOT_FOUND")
        ? new ResourceNotFoundError(href, message)
        : new ProtocolError(isTheirs ? InvalidParams : InternalError, message);
    });
  const call = async ({ run }: Tool, args: unknown): Promise<CallToolResult> => {
    try {
      const work = run(args, throughline, ports);
      ports.running?.(work);
      const text = JSON.stringify({ notice, ...(await work) });
      // As it goes over the wire: without what is undefined.
      return { content: [{ type: "text", text }], structuredContent: JSON.parse(text) };
    } catch (error) {
      return failure(says(error));
    }
  };
  return () => {
    const server = new McpServer(...identity(ports.version));
    for (const tool of toolsFor(ports)) {
      const { name, title, description, annotations } = tool;
      const about = { title, description, annotations };
      const schemas = { inputSchema: unchecked(tool), outputSchema: resultSchema };
      server.registerTool(name, { ...about, ...schemas }, (args: unknown) => call(tool, args));
    }
    addResources(server, throughline, reading);
    return server;
  };
}

/** An error that the model sees. */
export function failure(text: string): CallToolResult {
  return { content: [{ type: "text", text }], isError: true };
}

/** The tool checks its arguments itself, so that what is wrong with them comes with our code. */
function unchecked({ input }: Tool) {
  const validate = (value: unknown) => ({ value: value as Record<string, unknown> });
  return { "~standard": { ...input["~standard"], validate } };
}
