import type { Server } from "node:http";
import { type Checks, misconfigured, resolveOptions, whole } from "../core/options.ts";
import {
  type AllowedHosts,
  allowedHosts,
  bracketed,
  isLoopback,
  securityHeaders,
} from "./guard.ts";
import { closeAll, type Fetch, listenAt } from "./listen.ts";
import type { PortSettings } from "./options.ts";
import { problem, problemResponse } from "./problem.ts";

/** Where a server listens by default. */
export const defaultAddress = { host: "127.0.0.1", port: 7423 } as const;

const checks: Checks<Partial<Address>> = {
  host: ["a name or an address", (value) => typeof value === "string"],
  port: whole(0, 65_535),
};

const ownHeaders = { ...securityHeaders, "cache-control": "no-store" };

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

/**
 * A port that is listened at. It may be opened before there is a server: until then every request waits for the
 * server.
 */
export class Port {
  readonly address: Address;
  /** For people. */
  readonly url: string;
  readonly hosts: AllowedHosts;
  readonly #settings: PortSettings;
  readonly #servers: readonly Server[];
  readonly #given: PromiseWithResolvers<Fetch>;
  #router: Answering | undefined;

  private constructor(
    address: Address,
    settings: PortSettings,
    servers: readonly Server[],
    given: PromiseWithResolvers<Fetch>,
  ) {
    const { host, port } = address;
    this.address = address;
    this.url = `http://${shownHost(host)}:${port}`;
    this.hosts = allowedHosts(address, settings.hosts);
    this.#settings = settings;
    this.#servers = servers;
    this.#given = given;
  }

  /**
   * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: other machines would reach it, and there is
   *   no token. `THROUGHLINE_UNAVAILABLE`: the address is not available.
   */
  static async open(wanted: Partial<Address>, settings: PortSettings): Promise<Port> {
    const address = resolveOptions("an address", wanted, defaultAddress, checks);
    const { host, port: wantedPort } = address;
    checkReach(host, settings.token);
    const given = Promise.withResolvers<Fetch>();
    let opened: Port | undefined;
    const fetch: Fetch = async (request, env) => {
      const own = opened;
      return own === undefined ? (await given.promise)(request, env) : own.#answer(request, env);
    };
    // A handshake that comes before the server is answered by it, too.
    const takesSocket = (path: string) => opened === undefined || opened.#takesSocket(path);
    const ports = { ...settings, fetch, takesSocket };
    const { port, servers } = await listenAt({ host, port: wantedPort }, ports);
    opened = new Port({ host, port }, settings, servers, given);
    return opened;
  }

  /** From now on this answers, also what has waited. */
  serve(router: Answering): void {
    this.#router = router;
    this.#given.resolve((request, env) => router.app.fetch(request, env as never));
  }

  /** Accepts no more, lets done answers leave once `answered` has resolved, and closes every connection. */
  close(answered: Promise<unknown>): Promise<void> {
    // Without effect where there is a server. A handshake that waits would keep the port open.
    this.#given.resolve(() => problemResponse(problem("THROUGHLINE_CLOSED"), ownHeaders));
    return closeAll(this.#servers, answered, this.#settings.limits.flushMs);
  }

  #takesSocket(path: string): boolean {
    return this.#router === undefined || this.#router.takesSocket(path);
  }

  #answer(request: Request, env: Parameters<Fetch>[1]): unknown {
    if (this.#router !== undefined) return this.#router.app.fetch(request, env as never);
    return this.#given.promise.then((fetch) => fetch(request, env));
  }
}

/** A name that works on this machine, where there is one. */
function shownHost(host: string): string {
  const isHere = isLoopback(host) || isEverywhere(host);
  return bracketed(isHere && host !== "::1" ? defaultAddress.host : host);
}

function isEverywhere(host: string): boolean {
  return ["0.0.0.0", "::"].includes(host);
}

function checkReach(host: string, token: string | undefined): void {
  // Without a name Node listens at every address there is.
  if (host === "" || (token === undefined && !isLoopback(host))) {
    throw misconfigured("an address that other machines reach needs a token");
  }
}
