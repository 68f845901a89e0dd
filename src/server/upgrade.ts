// A WebSocket's handshake goes through the same app as every other request, and so through the same
// guard: only a route that says so gets a socket, everything else is answered as it is over HTTP.
import { type IncomingMessage, type Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { HttpBindings } from "@hono/node-server";
import type { WebSocket } from "ws";
import { problem, rawProblem } from "./problem.ts";

/** What a route makes of a handshake. */
export interface AcceptedSocket {
  /** Of the longest message, in bytes. One more closes the socket, with 1009. */
  readonly maxMessageBytes: number;
  /** Takes the socket once the handshake is done. */
  readonly open: (socket: WebSocket) => void;
}

/** What came behind each handshake that is being answered. */
const heads = new WeakMap<IncomingMessage, Buffer>();

/** Whether a request asks to become a WebSocket. */
export function isHandshake({ method, headers }: IncomingMessage): boolean {
  return method === "GET" && headers.upgrade?.toLowerCase() === "websocket";
}

/** Answers the handshakes of a server as its other requests. */
export function acceptUpgrades(
  server: Server,
  answer: (incoming: IncomingMessage, outgoing: ServerResponse) => void,
): void {
  server.on("upgrade", (incoming, socket, head) => {
    socket.on("error", () => undefined); // it closes by itself
    const outgoing = new ServerResponse(incoming);
    outgoing.shouldKeepAlive = false;
    outgoing.assignSocket(socket as Socket);
    outgoing.once("finish", () => endWith(socket));
    heads.set(incoming, head);
    answer(incoming, outgoing);
  });
}

/** Whether this is a handshake that can become a WebSocket. */
export function isUpgrade({ incoming }: Partial<HttpBindings>): boolean {
  return incoming !== undefined && heads.has(incoming);
}

/** Makes a WebSocket of a handshake. @returns what stands for the answer that it has then. */
export async function upgrade(
  { incoming, outgoing }: HttpBindings,
  { maxMessageBytes: maxPayload, open }: AcceptedSocket,
): Promise<Response> {
  const { socket } = incoming;
  const { WebSocketServer } = await import("ws"); // most runs have no socket
  outgoing.detachSocket(socket);
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload,
    perMessageDeflate: false,
    clientTracking: false,
  });
  // By itself it would refuse in plain text.
  sockets.on("wsClientError", ({ message }, refused) => {
    const reason = problem("THROUGHLINE_INVALID", `not the handshake of a WebSocket: ${message}`);
    endWith(refused, rawProblem(reason, { "sec-websocket-version": "13" }));
  });
  if (!socket.destroyed) {
    sockets.handleUpgrade(incoming, socket, heads.get(incoming) ?? Buffer.alloc(0), open);
  }
  return new Response(null, { headers: { "x-hono-already-sent": "true" } });
}

/** The connection does not wait for the other side to end it: no server looks after it any more. */
function endWith(socket: Duplex, last = ""): void {
  socket.end(last, () => socket.destroy());
}
