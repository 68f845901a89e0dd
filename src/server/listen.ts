import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { getRequestListener, RequestError } from "@hono/node-server";
import { ThroughlineError } from "../core/errors.ts";
import type { Logger } from "../core/logger.ts";
import { securityHeaders } from "./guard.ts";
import type { PortSettings } from "./options.ts";
import { type Problem, problem, problemResponse, rawProblem, writeProblem } from "./problem.ts";
import { acceptUpgrades, isHandshake } from "./upgrade.ts";

export type Fetch = Parameters<typeof getRequestListener>[0];

interface Answering extends PortSettings {
  readonly fetch: Fetch;
  /** Whether a request to this path may become a WebSocket. */
  readonly takesSocket: (path: string) => boolean;
}

/** Both of this machine's own addresses, since browsers take either for `localhost`. */
const loopback = ["127.0.0.1", "::1"] as const;

/**
 * Listens at an address; at `localhost` and 127.0.0.1 also at ::1, where that is available.
 *
 * @param address port 0: one that is free.
 * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: the address is not available.
 */
export async function listenAt(
  address: { readonly host: string; readonly port: number },
  ports: Answering,
): Promise<{ readonly port: number; readonly servers: readonly Server[] }> {
  const isOwn = ["localhost", loopback[0]].includes(address.host);
  const first = nodeServer(ports);
  const port = await bind(first, isOwn ? loopback[0] : address.host, address.port);
  if (!isOwn) return { port, servers: [first] };
  const second = nodeServer(ports);
  try {
    await bind(second, loopback[1], port);
    return { port, servers: [first, second] };
  } catch (error) {
    const { cause } = error as ThroughlineError;
    ports.logger.info({ code: codeOf(cause), port }, "not listening at ::1");
    return { port, servers: [first] };
  }
}

const lookEveryMs = 20;

/** Accepts no more, lets done answers leave, and closes every connection. */
export async function closeAll(
  servers: readonly Server[],
  answered: Promise<unknown>,
  flushMs: number,
): Promise<void> {
  const closed = Promise.all(
    servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve()))),
  );
  await answered;
  // A connection is idle once its answer has left; close() looked at that only once.
  const look = setInterval(() => {
    for (const server of servers) server.closeIdleConnections();
  }, lookEveryMs);
  const giveUp = setTimeout(() => {
    for (const server of servers) server.closeAllConnections();
  }, flushMs);
  await closed;
  clearInterval(look);
  clearTimeout(giveUp);
}

function nodeServer({ fetch, takesSocket, limits, logger }: Answering): Server {
  const listener = getRequestListener(fetch, {
    // The process is the user's: its Request and Response stay as they are.
    overrideGlobalObjects: false,
    errorHandler: (error) => unparsable(error, logger),
  });
  const headersTimeout = Math.min(limits.headersTimeoutMs, limits.requestTimeoutMs);
  const server = createHttpServer(
    {
      headersTimeout,
      requestTimeout: limits.requestTimeoutMs,
      // A request without a host is refused by us, as every other that is not in order.
      requireHostHeader: false,
      // Node looks at the timeouts only so often.
      connectionsCheckingInterval: Math.min(1_000, headersTimeout),
      // Everything else that asks for an upgrade is answered as if it did not.
      shouldUpgradeCallback: (incoming) =>
        isHandshake(incoming) &&
        takesSocket(incoming.url?.split("?", 1)[0] ?? "") &&
        connections.answering(incoming.socket) === undefined,
    },
    (incoming, outgoing) => {
      connections.answer(incoming, outgoing, () => void listener(incoming, outgoing));
    },
  );
  const connections = new Connections(server, limits);
  acceptUpgrades(server, (incoming, outgoing) => void listener(incoming, outgoing));
  server.on("checkExpectation", (incoming, outgoing) => {
    connections.answer(incoming, outgoing, () => writeProblem(outgoing, unexpected()));
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    const isAnswering = connections.answering(socket)?.headersSent === true;
    if (socket.writable && !isAnswering && error.code !== "ECONNRESET") {
      socket.write(rawProblem(problemOfParser(error.code)));
    }
    socket.destroy();
  });
  return server;
}

function bind(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const message = `cannot listen at ${host} port ${port} (${codeOf(cause)})`;
      reject(new ThroughlineError(message, { code: "THROUGHLINE_UNAVAILABLE", cause }));
    });
    server.listen({ host, port }, () => resolve((server.address() as AddressInfo).port));
  });
}

/** For what could not be made a request of, such as a host that is no name. */
function unparsable(error: unknown, logger: Logger): Response {
  const isTheirs = error instanceof RequestError;
  if (!isTheirs) logger.error({ error: error instanceof Error ? error.name : "" }, "a defect");
  const refused = isTheirs
    ? problem("THROUGHLINE_INVALID", "this is no request for this server")
    : problem("THROUGHLINE_INTERNAL");
  return problemResponse(refused, { ...securityHeaders, connection: "close" });
}

/** For what the parser of HTTP itself refuses: ambiguous lengths, broken lines, too slow, too long. */
function problemOfParser(code: string | undefined): Problem {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return problem("THROUGHLINE_TIMED_OUT");
  if (code !== "HPE_HEADER_OVERFLOW") return problem("THROUGHLINE_INVALID", "this is not HTTP");
  const refused = problem("THROUGHLINE_TOO_LARGE", "the headers are too long");
  return { ...refused, title: "Request Header Fields Too Large", status: 431 };
}

/** For an `Expect` that is not `100-continue`. */
function unexpected(): Problem {
  const refused = problem("THROUGHLINE_INVALID", "nothing but 100-continue can be expected here");
  return { ...refused, title: "Expectation Failed", status: 417 };
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException | undefined)?.code ?? "unknown";
}

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
class Connections {
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
