import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { getRequestListener, RequestError } from "@hono/node-server";
import { isThroughlineError, unavailable } from "../core/errors.ts";
import type { Logger } from "../core/logger.ts";
import { byDefault, misconfigured, resolveOptions, whole } from "../core/options.ts";
import {
  type AllowedHosts,
  allowedHosts,
  bracketed,
  isEverywhere,
  isLoopback,
  securityHeaders,
} from "./guard.ts";
import type { PortSettings } from "./options.ts";
import { type Problem, problem, problemResponse, rawProblem } from "./problem.ts";
import { acceptUpgrades, isHandshake } from "./upgrade.ts";

/** Where a server listens by default. */
export const defaultAddress = { host: "127.0.0.1", port: 7423 } as const;

const declared = {
  host: byDefault(defaultAddress.host, [
    "a name or an address",
    (value) => typeof value === "string",
  ]),
  port: byDefault(defaultAddress.port, whole(0, 65_535)),
};

export interface Address {
  readonly host: string;
  /** 0: one that is free. */
  readonly port: number;
}

/** What answers at a port: a server's router. Its types are those of packages that a user does not have. */
interface Answering {
  readonly app: { fetch(request: Request, env: never): Response | Promise<Response> };
  takesSocket(path: string): boolean;
}

/** A port that is listened at. It may be opened before there is a server: until then every request waits. */
export interface Port {
  readonly address: Address;
  /** For people. */
  readonly url: string;
  readonly hosts: AllowedHosts;
  /** From now on this answers, also what has waited. */
  serve(router: Answering): void;
  /** Accepts no more, lets done answers leave once `answered` has resolved, and closes every connection. */
  close(answered: Promise<unknown>): Promise<void>;
}

type Fetch = Parameters<typeof getRequestListener>[0];

/**
 * Listens at an address; at `localhost` and 127.0.0.1, which browsers take for each other, also at ::1 where
 * that is available.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: other machines would reach it, and there is
 *   no token. `THROUGHLINE_UNAVAILABLE`: the address is not available.
 */
export async function openPort(wanted: Partial<Address>, settings: PortSettings): Promise<Port> {
  const { host, port: wantedPort } = resolveOptions("an address", wanted, declared);
  checkReach(host, settings.token);
  const { promise: served, resolve: serve } = Promise.withResolvers<Answering>();
  let router: Answering | undefined;
  void served.then((given) => {
    router = given;
  });
  const fetch: Fetch = async (request, env) => (await served).app.fetch(request, env as never);
  // A handshake that comes before the server is answered by it, too.
  const takesSocket = (path: string) => router?.takesSocket(path) ?? true;
  const isOwn = host === "localhost" || host === "127.0.0.1";
  const servers = [nodeServer(settings, fetch, takesSocket)] as [Server, ...Server[]];
  const port = await bind(servers[0], isOwn ? "127.0.0.1" : host, wantedPort);
  if (isOwn) {
    const second = nodeServer(settings, fetch, takesSocket);
    try {
      await bind(second, "::1", port);
      servers.push(second);
    } catch (error) {
      if (!isThroughlineError(error)) throw error;
      settings.logger.info({ code: codeOf(error.cause), port }, "not listening at ::1");
    }
  }
  const address = { host, port };
  return {
    address,
    url: `http://${shownHost(host)}:${port}`,
    hosts: allowedHosts(address, settings.hosts),
    serve,
    close(answered) {
      // Without effect where there is a server. A handshake that waits would keep the port open.
      const headers = { ...securityHeaders, "cache-control": "no-store" };
      const refuse = () => problemResponse(problem("THROUGHLINE_CLOSED"), headers);
      serve({ app: { fetch: refuse }, takesSocket: () => true });
      return closeAll(servers, answered, settings.limits.flushMs);
    },
  };
}

/** A name that works on this machine, where there is one. */
function shownHost(host: string): string {
  const isHere = isLoopback(host) || isEverywhere(host);
  return bracketed(isHere && host !== "::1" ? defaultAddress.host : host);
}

function checkReach(host: string, token: string | undefined): void {
  // Without a name Node listens at every address there is.
  if (host === "" || (token === undefined && !isLoopback(host))) {
    throw misconfigured("an address that other machines reach needs a token");
  }
}

const lookEveryMs = 20;

/** Accepts no more, lets done answers leave, and closes every connection. */
async function closeAll(
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

function nodeServer(
  { limits, logger }: PortSettings,
  fetch: Fetch,
  /** Whether a request to this path may become a WebSocket. */
  takesSocket: (path: string) => boolean,
): Server {
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
      reject(unavailable(message, cause));
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

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException | undefined)?.code ?? "unknown";
}

/** Requests that may wait for the answer before theirs. One more closes the connection. */
const maxWaiting = 16;

/**
 * Bounds what the connections of a server hold: one answer at a time on each, as long as the client
 * takes it, and only some of the connections for one client's address.
 */
class Connections {
  readonly #maxPerClient: number;
  readonly #perClient = new Map<string, number>();
  /** For each connection with a request: the answer that is being made, and what makes those that wait. */
  readonly #answering = new WeakMap<
    Duplex,
    { outgoing: ServerResponse; waiting: (() => void)[] }
  >();

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
    const waiting = this.#answering.get(socket)?.waiting ?? [];
    const start = () => {
      this.#answering.set(socket, { outgoing, waiting });
      outgoing.once("close", () => {
        this.#answering.delete(socket);
        if (waiting.length === 1) socket.resume();
        if (!socket.destroyed) waiting.shift()?.();
      });
      begin();
    };
    if (!this.#answering.has(socket)) start();
    else if (waiting.push(start) > maxWaiting) socket.destroy();
    else socket.pause();
  }

  /** The answer that a connection waits for, or takes. */
  answering(socket: Duplex): ServerResponse | undefined {
    return this.#answering.get(socket)?.outgoing;
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
