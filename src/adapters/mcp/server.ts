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
import { notice, resultSchema, type Tool, type ToolPorts, toolsOver, warning } from "./tools.ts";

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
  const tools = toolsOver(throughline, ports);
  const { logger } = throughline.ports;
  /** What may be said of an error. The message of one that is not ours may quote a chat. */
  const says = (error: unknown): string => {
    if (isThroughlineError(error)) return `${error.code}: ${error.message}`;
    logger.error({ error: errorName(error) }, "an MCP request failed");
    return `an unexpected ${errorName(error)}`;
  };
  const reading = async <T>(uri: URL, work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw readingError(uri, error, says(error));
    }
  };
  return () => {
    const server = new McpServer(...identity(ports.version));
    for (const tool of tools) addTool(server, tool, { says, running: ports.running });
    addResources(server, throughline, reading);
    return server;
  };
}

/** The errors of the protocol have no cause. */
function readingError({ href }: URL, error: unknown, message: string): ProtocolError {
  if (isThroughlineError(error, "THROUGHLINE_NOT_FOUND"))
    return new ResourceNotFoundError(href, message);
  const { InvalidParams, InternalError } = ProtocolErrorCode;
  const isTheirs = isThroughlineError(error, "THROUGHLINE_INVALID");
  return new ProtocolError(isTheirs ? InvalidParams : InternalError, message);
}

interface Calls extends Pick<ToolPorts, "running"> {
  readonly says: (error: unknown) => string;
}

function addTool(server: McpServer, tool: Tool, { says, running }: Calls): void {
  const { name, title, description, annotations } = tool;
  const told = {
    title,
    description,
    annotations,
    inputSchema: unchecked(tool),
    outputSchema: resultSchema,
  };
  server.registerTool(name, told, async (args: unknown): Promise<CallToolResult> => {
    try {
      const work = tool.run(args);
      running?.(work);
      const structured = { notice, ...(await work) };
      const text = JSON.stringify(structured);
      // As it goes over the wire: without what is undefined.
      return { content: [{ type: "text", text }], structuredContent: JSON.parse(text) };
    } catch (error) {
      return failure(says(error));
    }
  });
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
