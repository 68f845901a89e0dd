// A WebSocket's handshake goes through the same app as every other request, and so through the same
// guard: only a route that says so gets a socket, everything else is answered as it is over HTTP.
import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import type { WebSocket, WebSocketServer } from "ws";
import type { Logger } from "../../core/logger.ts";
import { problem } from "../../server/problem.ts";
import { rawProblem } from "../../server/raw-problem.ts";
import { mediaHeaderBytes } from "./media-message.ts";

export const mediaPath = "/api/media";
/** Of one picture, as everywhere else. */
const maxMessageBytes = 2 * 1024 * 1024 + mediaHeaderBytes;

/** In the bindings of a request that asks to become a WebSocket. */
export interface Upgrade {
  /** Set by the route: the request becomes a WebSocket, and this gets it. */
  accept?: (socket: WebSocket) => void;
}

type Fetch = (request: Request, env: never) => unknown;

/** Whether a request asks for the one WebSocket that there is. Other upgrades are not heard. */
export function isMediaUpgrade({ method, url = "", headers }: IncomingMessage): boolean {
  const isPath = url === mediaPath || url.startsWith(`${mediaPath}?`);
  return isPath && method === "GET" && headers.upgrade?.toLowerCase() === "websocket";
}

/** Answers the handshakes of a server through `fetch`. */
export function acceptUpgrades(server: Server, fetch: Fetch, logger: Logger): void {
  let sockets: Promise<WebSocketServer> | undefined;
  const opened = () => {
    sockets ??= openSockets();
    return sockets;
  };
  server.on("upgrade", (incoming, socket, head) => {
    socket.on("error", () => undefined); // it closes; there is nobody to tell
    const upgraded = upgrade({ incoming, socket, head }, fetch, opened);
    upgraded.catch((error: unknown) => {
      logger.error({ error: error instanceof Error ? error.name : "" }, "a defect");
      socket.destroy();
    });
  });
}

/** Loaded with the first handshake: most runs have none. */
async function openSockets(): Promise<WebSocketServer> {
  const { WebSocketServer } = await import("ws");
  const sockets = new WebSocketServer({
    ...{ noServer: true, maxPayload: maxMessageBytes },
    ...{ perMessageDeflate: false, clientTracking: false },
  });
  // Told by it, a refusal would be plain text.
  sockets.on("wsClientError", ({ message }, socket) => {
    const told = problem("THROUGHLINE_INVALID", `not the handshake of a WebSocket: ${message}`);
    endWith(socket, rawProblem(told, { "sec-websocket-version": "13" }));
  });
  return sockets;
}

interface Handshake {
  readonly incoming: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

async function upgrade(
  { incoming, socket, head }: Handshake,
  fetch: Fetch,
  opened: () => Promise<WebSocketServer>,
): Promise<void> {
  const request = isMediaUpgrade(incoming) ? requestOf(incoming) : undefined;
  if (request === undefined) {
    endWith(
      socket,
      rawProblem(problem("THROUGHLINE_INVALID", "this is no request for this server")),
    );
    return;
  }
  const sockets = await opened(); // before the answer: what is accepted becomes a socket at once
  const offer: Upgrade = {};
  const response = (await fetch(request, { incoming, upgrade: offer } as never)) as Response;
  if (socket.destroyed) return;
  const { accept } = offer;
  if (response.ok && accept !== undefined) sockets.handleUpgrade(incoming, socket, head, accept);
  else endWith(socket, await rawResponse(response));
}

/** No server looks after this connection any more: it does not wait for the other side to end it. */
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
