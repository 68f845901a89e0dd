import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { PortSettings } from "./options.ts";

/** Requests that may wait for the answer before theirs. One more closes the connection. */
const maxWaiting = 16;

interface Exchange {
  readonly outgoing: ServerResponse;
  readonly begin: () => void;
}

/**
 * Bounds what the connections of a server hold: one answer at a time on each, as long as the client
 * takes it, and only some of the connections for one client's address.
 */
export class Connections {
  readonly #maxPerClient: number;
  readonly #perClient = new Map<string, number>();
  /** For each connection with a request: what is being answered, then what waits. */
  readonly #exchanges = new WeakMap<Duplex, Exchange[]>();

  constructor(server: Server, limits: PortSettings["limits"]) {
    this.#maxPerClient = limits.connectionsPerClient;
    server.maxConnections = limits.connections;
    server.on("connection", (socket) => this.#admit(socket));
    // Node calls this when nothing was read or written for so long, and no write made progress.
    server.timeout = limits.writeTimeoutMs;
    server.on("timeout", (socket) => {
      const isWaitingForUs = this.answering(socket) !== undefined && socket.writableLength === 0;
      if (!isWaitingForUs) socket.destroy();
    });
  }

  /** Begins an answer, once every answer before it on the same connection was written. */
  answer({ socket }: IncomingMessage, outgoing: ServerResponse, begin: () => void): void {
    const exchanges = this.#exchanges.get(socket) ?? [];
    exchanges.push({ outgoing, begin });
    if (exchanges.length === 1) {
      this.#exchanges.set(socket, exchanges);
      this.#begin(socket, exchanges);
    } else if (exchanges.length > 1 + maxWaiting) socket.destroy();
    else socket.pause();
  }

  /** The answer that a connection waits for, or takes. */
  answering(socket: Duplex): ServerResponse | undefined {
    return this.#exchanges.get(socket)?.[0]?.outgoing;
  }

  #begin(socket: Socket, exchanges: Exchange[]): void {
    const [exchange] = exchanges;
    if (exchange === undefined) {
      this.#exchanges.delete(socket);
      return;
    }
    exchange.outgoing.once("close", () => {
      exchanges.shift();
      if (exchanges.length === 1) socket.resume();
      if (!socket.destroyed) this.#begin(socket, exchanges);
    });
    exchange.begin();
  }

  #admit(socket: Socket): void {
    const client = socket.remoteAddress ?? "";
    const count = (this.#perClient.get(client) ?? 0) + 1;
    this.#perClient.set(client, count);
    socket.once("close", () => {
      const left = (this.#perClient.get(client) ?? 0) - 1;
      if (left > 0) this.#perClient.set(client, left);
      else this.#perClient.delete(client);
    });
    if (count > this.#maxPerClient) socket.destroy();
  }
}
