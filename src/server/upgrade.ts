// A WebSocket's handshake goes through the same app as every other request, and so through the same
// guard: only a route that says so gets a socket, everything else is answered as it is over HTTP.
import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import type { Logger } from "../core/logger.ts";
import { problem, rawProblem } from "./problem.ts";

/** What a route makes of a handshake. */
export interface AcceptedSocket {
  /** Of the longest message, in bytes. One more closes the socket, with 1009. */
  readonly maxMessageBytes: number;
  /** Takes the socket once the handshake is done. */
  readonly open: (socket: WebSocket) => void;
}

/** In the bindings of a request that asks to become a WebSocket. */
export interface Upgrade {
  /** Set by the route. */
  accepted?: AcceptedSocket;
}

type Fetch = (request: Request, env: never) => unknown;

/** Whether a request asks to become a WebSocket. */
export function isHandshake({ method, headers }: IncomingMessage): boolean {
  return method === "GET" && headers.upgrade?.toLowerCase() === "websocket";
}

/** Answers the handshakes of a server through `fetch`. */
export function acceptUpgrades(server: Server, fetch: Fetch, logger: Logger): void {
  server.on("upgrade", (incoming, socket, head) => {
    socket.on("error", () => undefined); // it closes by itself
    upgrade({ incoming, socket, head }, fetch).catch((error: unknown) => {
      logger.error({ error: error instanceof Error ? error.name : "" }, "a defect");
      socket.destroy();
    });
  });
}

interface Handshake {
  readonly incoming: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

async function upgrade({ incoming, socket, head }: Handshake, fetch: Fetch): Promise<void> {
  const request = isHandshake(incoming) ? requestOf(incoming) : undefined;
  if (request === undefined) {
    const refused = problem("THROUGHLINE_INVALID", "this is no request for this server");
    endWith(socket, rawProblem(refused));
    return;
  }
  const offer: Upgrade = {};
  const response = (await fetch(request, { incoming, upgrade: offer } as never)) as Response;
  const { accepted } = offer;
  if (!response.ok || accepted === undefined) {
    const answer = await rawResponse(response);
    if (!socket.destroyed) endWith(socket, answer);
    return;
  }
  const { WebSocketServer } = await import("ws"); // most runs have no socket
  if (socket.destroyed) return;
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: accepted.maxMessageBytes,
    perMessageDeflate: false,
    clientTracking: false,
  });
  // By itself it would refuse in plain text.
  sockets.on("wsClientError", ({ message }, refused) => {
    const reason = problem("THROUGHLINE_INVALID", `not the handshake of a WebSocket: ${message}`);
    endWith(refused, rawProblem(reason, { "sec-websocket-version": "13" }));
  });
  sockets.handleUpgrade(incoming, socket, head, accepted.open);
}

/** The connection does not wait for the other side to end it: no server looks after it any more. */
function endWith(socket: Duplex, answer: string | Buffer): void {
  socket.end(answer, () => socket.destroy());
}

/**
 * The request as it came: a header that came twice is joined, as it is for every other request, so
 * that the guard sees both. @returns `undefined`: no request can be made of it.
 */
function requestOf({ url = "", rawHeaders }: IncomingMessage): Request | undefined {
  try {
    const headers = new Headers();
    for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
      headers.append(rawHeaders[at] ?? "", rawHeaders[at + 1] ?? "");
    }
    return new Request(new URL(`http://${headers.get("host") ?? "localhost"}${url}`), { headers });
  } catch {
    return undefined; // a host that is no name, or a header that is none
  }
}

async function rawResponse(response: Response): Promise<Buffer> {
  const body = Buffer.from(await response.arrayBuffer());
  const headers = [...response.headers, ["content-length", String(body.length)]];
  const lines = headers.map(([name, value]) => `${name}: ${value}`);
  const { status, statusText } = response;
  const head = [`HTTP/1.1 ${status} ${statusText}`, "connection: close", ...lines, "", ""];
  return Buffer.concat([Buffer.from(head.join("\r\n"), "latin1"), body]);
}
