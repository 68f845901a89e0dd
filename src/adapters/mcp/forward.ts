// An MCP server that has no chats itself: it passes what it is asked to a server that has them.
import { ProtocolError, ProtocolErrorCode, Server } from "@modelcontextprotocol/server";
import {
  type ErrorCode,
  errorCodes,
  isThroughlineError,
  outcomeUnknown,
  ThroughlineError,
  unavailable,
} from "../../core/errors.ts";
import { isJsonObject, type JsonObject, parseJson, tooLarge } from "../../core/json.ts";
import { failure, identity } from "./server.ts";

/** Where the server is now. */
interface Target {
  readonly url: string;
  readonly token?: string | undefined;
}

/**
 * @param target asked before each request: the server may have been restarted elsewhere.
 * @returns what makes a server for one connection.
 */
export function forwardingServer(target: () => Target | undefined, version: string): () => Server {
  return () => {
    const [info, options] = identity(version);
    const capabilities = { tools: {}, resources: {} };
    const server = new Server(info, { ...options, capabilities });
    for (const method of methods) {
      server.setRequestHandler(method, async ({ params }, { mcpReq }) => {
        const asked = { method, params: withoutMeta(params) };
        try {
          return (await post(target(), asked, mcpReq.signal)) as never;
        } catch (error) {
          if (!isThroughlineError(error)) throw error;
          const says = `${error.code}: ${error.message}`;
          if (method === "tools/call") return failure(says) as never;
          // biome-ignore lint/style/useErrorCause: the errors of the protocol have no cause.
          throw new ProtocolError(ProtocolErrorCode.InternalError, says);
        }
      });
    }
    return server;
  };
}

const methods = [
  "tools/list",
  "tools/call",
  "resources/list",
  "resources/templates/list",
  "resources/read",
] as const;

/** What the two sides of one connection agreed on is nothing to the other. */
function withoutMeta(params: object | undefined): object {
  const { _meta, ...rest } = (params ?? {}) as { readonly _meta?: unknown };
  return rest;
}

/**
 * @returns the result.
 * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: nothing was done. `THROUGHLINE_OUTCOME_UNKNOWN`: done or not.
 *   Otherwise the code with which the server refused.
 * @throws ProtocolError that of the server.
 */
async function post(
  target: Target | undefined,
  asked: object,
  signal: AbortSignal,
): Promise<unknown> {
  if (target === undefined) {
    throw unavailable(
      "no server has this home any more: start `throughline serve` again, or restart this",
    );
  }
  const { url, token } = target;
  const sent = fetch(new URL("/mcp", url), {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2025-11-25",
      ...(token && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...asked }),
    signal,
  });
  const read = sent.then(async (response) => ({ response, text: await response.text() }));
  const { response, text } = await read.catch((cause: Error) => {
    const { code } = (cause.cause ?? {}) as { readonly code?: unknown };
    if (code === "ECONNREFUSED") throw unavailable(`the server at ${url} does not answer`, cause);
    const message = `the connection to ${url} broke off: repeat the call with the same ids`;
    throw outcomeUnknown(message, cause);
  });
  if (response.status === 413) throw tooLarge("this is larger than the server takes at once");
  const { result, error, code: said, detail } = answerIn(text);
  if (isJsonObject(error)) {
    throw new ProtocolError(Number(error["code"]), String(error["message"]), error["data"]);
  }
  if (response.ok && result !== undefined) return result;
  const known = Object.keys(errorCodes).find((each) => each === said) as ErrorCode | undefined;
  const code = known ?? "THROUGHLINE_OUTCOME_UNKNOWN";
  throw new ThroughlineError(`the server at ${url} refused this: ${detail ?? response.status}`, {
    code,
  });
}

/** The message in a body: of JSON, or the one with an id in a stream of events. */
function answerIn(text: string): JsonObject {
  const lines = text.startsWith("{")
    ? [text]
    : text.split("\n").flatMap((line) => /^data: ?(\{.*)/.exec(line)?.[1] ?? []);
  for (const line of lines) {
    const message = parseJson(line, "the answer");
    if (isJsonObject(message) && (lines.length === 1 || message["id"] === 1)) return message;
  }
  return {};
}
