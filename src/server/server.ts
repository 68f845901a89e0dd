import { closed } from "../core/errors.ts";
import { Access } from "./access.ts";
import { createApp } from "./app.ts";
import { relayEvents } from "./cluster-events.ts";
import { Watchers } from "./events.ts";
import { allowedHosts } from "./guard.ts";
import { Metrics } from "./metrics.ts";
import { resolveServer, type ServerOptions, type Settings } from "./options.ts";
import { type Address, defaultAddress, openPort, type Port } from "./port.ts";
import { readinessOf } from "./service-routes.ts";

export type { ServerFeature, ServerLimits, ServerOptions } from "./options.ts";
export { type Address, defaultAddress } from "./port.ts";

/** Serves one companion over HTTP. */
export interface ThroughlineServer {
  /**
   * The same server as a function, for tests and other servers. Before `listen` it answers as one at
   * 127.0.0.1:7423 would. It has the same guard: the request carries its `host` header.
   */
  fetch(request: Request): Promise<Response>;
  /**
   * Listens, once. 127.0.0.1 and `localhost` mean ::1 too, where that is available. A port that was opened
   * before is taken over.
   *
   * @returns where: `url` is for people and holds no token.
   * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: other machines would reach it, and there is
   *   no token. `THROUGHLINE_UNAVAILABLE`: the address is not available.
   */
  listen(at?: Partial<Address> | Port): Promise<{ readonly url: string; readonly port: number }>;
  /**
   * A code that signs one browser in, once, within 60 s: for the terminal, never for a log.
   *
   * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: there is no token.
   */
  signInCode(): string;
  /**
   * Accepts nothing more, ends event streams, waits for requests and turns that were begun, and
   * closes every connection. Takes less than a second longer than those: end the turns beside it
   * (`turns.close`). The memories stay open. Closing twice is closing once.
   */
  close(): Promise<void>;
}

/**
 * Serves a companion over HTTP: the API, the page, events and metrics.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: a weak token, a bad host name or limit.
 */
export function createServer(options: ServerOptions): ThroughlineServer {
  const settings = resolveServer(options);
  const { throughline, clock, limits, token } = settings;
  const watchers = new Watchers(limits.watchers, {
    maxBytes: limits.watcherBytes,
    keepAliveMs: limits.keepAliveMs,
  });
  const readiness = readinessOf(throughline.storage, clock);
  const metrics = new Metrics({ ...settings, watchers, readiness });
  const work = new Work();
  const unsubscribe = subscribe(settings, watchers, metrics);
  const access = new Access(token, clock);
  const defaultHosts = allowedHosts(defaultAddress, settings.hosts);
  let port: Port | undefined;
  let closing: Promise<void> | undefined;
  const { router, endFeatures } = createApp(
    {
      ...settings,
      watchers,
      begin: (begun) => work.begin(begun),
      track: (promise) => work.track(promise),
    },
    {
      access,
      metrics,
      readiness,
      hosts: () => port?.hosts ?? defaultHosts,
      port: () => (port?.address ?? defaultAddress).port,
    },
  );
  return {
    fetch: async (request) => router.app.fetch(request, {}),
    async listen(at = {}) {
      if (port !== undefined) throw new TypeError("a server listens once");
      port = "serve" in at ? at : await openPort(at, settings);
      port.serve(router);
      return { url: port.url, port: port.address.port };
    },
    signInCode: () => access.signInCode(),
    close() {
      closing ??= (async () => {
        unsubscribe();
        metrics.end();
        endFeatures();
        watchers.end();
        await Promise.all([work.end(), port?.close(work.end())]);
      })();
      return closing;
    },
  };
}

/** Requests and turns that were begun. */
class Work {
  readonly #pending = new Set<Promise<unknown>>();
  #isOver = false;

  async begin<T>(work: () => T | Promise<T>): Promise<T> {
    if (this.#isOver) throw closed("this server is ending");
    const result = Promise.resolve(work());
    this.track(result);
    return result;
  }

  track(promise: Promise<unknown>): void {
    const settled = promise.catch(() => undefined); // the one that asked gets it
    this.#pending.add(settled);
    void settled.then(() => this.#pending.delete(settled));
  }

  /** Begins nothing more. Resolves when everything has settled. */
  async end(): Promise<void> {
    this.#isOver = true;
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }
}

/** Publishes turns and repairs to those who watch, and for the counts. @returns what ends it. */
function subscribe(
  { throughline, turns, logger }: Settings,
  watchers: Watchers,
  metrics: Metrics,
): () => void {
  let isOver = false;
  const { cluster } = throughline.storage;
  const { chats } = throughline;
  const endRelay = relayEvents(cluster, { watchers, chats, logger });
  const endTurns = turns.onTurn((turn) => {
    void watchers.publishTurn(turn);
    void metrics.turn(turn);
  });
  for (const report of throughline.storage.repairs()) metrics.repair(report);
  const endRepairs = throughline.storage.onRepair((report) => {
    watchers.publish("repair", { ...report });
    metrics.repair(report);
  });
  throughline.sessions.onEnd((chatId, ended) => {
    if (!isOver && ended === "period")
      watchers.publish("session", { chat_id: chatId, change: "ended" });
  });
  return () => {
    isOver = true;
    endRelay?.();
    endTurns();
    endRepairs();
  };
}
