// The clients that people have: of the SDK's first and second generation, and of both protocols of the second.
import * as v2 from "@modelcontextprotocol/client";
import { StdioClientTransport as Stdio2 } from "@modelcontextprotocol/client/stdio";
import * as v1 from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as Stdio1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as Http1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { compileCache, program } from "./program.ts";

export const kinds = ["v1", "v2, 2025-11-25", "v2, 2026-07-28"] as const;
export type Kind = (typeof kinds)[number];

/** An address, or a home for `throughline mcp`. */
export type Place =
  | { readonly url: string; readonly fetch?: typeof fetch; readonly token?: string }
  | { readonly home: string; readonly variables?: Readonly<Record<string, string>> };

// biome-ignore lint/suspicious/noExplicitAny: a test looks into results of many shapes.
type Result = any;

export interface McpClient {
  list(): Promise<Result>;
  /** @returns the structured content. Rejects with the text of an in-band error. */
  call(name: string, args?: object): Promise<Result>;
  /** The same, with all that came. */
  raw(name: string, args?: object): Promise<Result>;
  /** @returns what the resource holds. */
  read(uri: string): Promise<Result>;
  templates(): Promise<Result>;
  resources(): Promise<Result>;
  /** Of the process that it started. */
  readonly pid: number | undefined;
  close(): Promise<void>;
}

const info = { name: "test", version: "1" };

/** @param kind which client. */
export async function connectMcp(kind: Kind, place: Place): Promise<McpClient> {
  const transport = transportTo(kind, place);
  const mode = kind === "v2, 2026-07-28" ? { pin: "2026-07-28" } : "legacy";
  const client =
    kind === "v1" ? new v1.Client(info) : new v2.Client(info, { versionNegotiation: { mode } });
  await client.connect(transport as never);
  const raw = (name: string, args: object = {}) =>
    client.callTool({ name, arguments: args as Record<string, unknown> });
  return {
    list: () => client.listTools(),
    raw,
    async call(name, args) {
      const result = (await raw(name, args)) as Result;
      if (result.isError) throw new Error(result.content[0].text);
      return result.structuredContent;
    },
    async read(uri) {
      const { contents } = (await client.readResource({ uri })) as Result;
      return JSON.parse(contents[0].text);
    },
    templates: () => client.listResourceTemplates(),
    resources: () => client.listResources(),
    get pid() {
      return (transport as Partial<Stdio1>).pid ?? undefined;
    },
    close: () => client.close(),
  };
}

function transportTo(kind: Kind, place: Place): object {
  if ("home" in place) {
    const { home, variables = {} } = place;
    const env = {
      PATH: "",
      HOME: home,
      NODE_COMPILE_CACHE: compileCache,
      LOG_LEVEL: "silent",
      THROUGHLINE_HOME: home,
      ...variables,
    };
    const started = { command: process.execPath, args: [program, "mcp"], env };
    return kind === "v1" ? new Stdio1(started) : new Stdio2(started);
  }
  const { url, token, fetch } = place;
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const options = { requestInit: { headers }, fetch: fetch as never };
  const address = new URL("/mcp", url);
  return kind === "v1"
    ? new Http1(address, options)
    : new v2.StreamableHTTPClientTransport(address, options);
}
