import { type Checks, misconfigured, resolveOptions, whole } from "../core/options.ts";
import {
  type AllowedHosts,
  allowedHosts,
  bracketed,
  isEverywhere,
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

/**
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: other machines would reach it, and there is
 *   no token. `THROUGHLINE_UNAVAILABLE`: the address is not available.
 */
export async function openPort(wanted: Partial<Address>, settings: PortSettings): Promise<Port> {
  const { host, port: wantedPort } = resolveOptions("an address", wanted, defaultAddress, checks);
  checkReach(host, settings.token);
  const { promise: served, resolve: serve } = Promise.withResolvers<Answering>();
  let router: Answering | undefined;
  void served.then((given) => {
    router = given;
  });
  const fetch: Fetch = async (request, env) => (await served).app.fetch(request, env as never);
  // A handshake that comes before the server is answered by it, too.
  const takesSocket = (path: string) => router?.takesSocket(path) ?? true;
  const ports = { ...settings, fetch, takesSocket };
  const { port, servers } = await listenAt({ host, port: wantedPort }, ports);
  const address = { host, port };
  return {
    address,
    url: `http://${shownHost(host)}:${port}`,
    hosts: allowedHosts(address, settings.hosts),
    serve,
    close(answered) {
      // Without effect where there is a server. A handshake that waits would keep the port open.
      const refuse = () => problemResponse(problem("THROUGHLINE_CLOSED"), ownHeaders);
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
