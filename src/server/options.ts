import { type Clock, systemClock } from "../core/clock.ts";
import { type NewId, randomId } from "../core/ids.ts";
import { type Logger, standardError, unfailing } from "../core/logger.ts";
import {
  aName,
  anObject,
  byDefault,
  maybe,
  must,
  type Options,
  type Resolved,
  resolveOptions,
  whole,
} from "../core/options.ts";
import type { Throughline } from "../core/throughline.ts";
import { checkToken } from "../core/token.ts";
import type { Turns } from "../core/turns/turns.ts";
import { checkHostName } from "./guard.ts";

export interface ServerLimits {
  /**
   * Bytes of one request's body. A message is somewhat shorter: it is stored with its stamps.
   * @default 1_048_576
   */
  readonly bodyBytes?: number | undefined;
  /**
   * Bytes of all requests' bodies that are held at a moment. One more chunk is 503. @default 268_435_456
   */
  readonly arrivingBytes?: number | undefined;
  /**
   * Bytes of all answers that wait until their clients take them. One more answer is 503. Streams do not
   * count. @default 268_435_456
   */
  readonly answeredBytes?: number | undefined;
  /** Connections at once, on each address that is listened at. @default 512 */
  readonly connections?: number | undefined;
  /** Connections at once from one address, on each that is listened at. @default 256 */
  readonly connectionsPerClient?: number | undefined;
  /** How long a request's headers may take to arrive, in milliseconds. @default 10_000 */
  readonly headersTimeoutMs?: number | undefined;
  /** How long a whole request may take to arrive, in milliseconds. @default 30_000 */
  readonly requestTimeoutMs?: number | undefined;
  /**
   * How long a client may take nothing of what is written to it, in milliseconds. Then its connection
   * is closed. @default 30_000
   */
  readonly writeTimeoutMs?: number | undefined;
  /** Who may watch at once: streams of events, and of turns taken up again. @default 64 */
  readonly watchers?: number | undefined;
  /** What may wait for one slow reader, in bytes. One more event drops the reader. @default 1_048_576 */
  readonly watcherBytes?: number | undefined;
  /** How often a quiet stream says that it is there, in milliseconds. @default 15_000 */
  readonly keepAliveMs?: number | undefined;
  /** At the close: how long answers that are done may take to leave, in milliseconds. @default 500 */
  readonly flushMs?: number | undefined;
}

const limits = {
  bodyBytes: byDefault(1_048_576, whole(1)),
  arrivingBytes: byDefault(268_435_456, whole(1)),
  answeredBytes: byDefault(268_435_456, whole(1)),
  connections: byDefault(512, whole(1)),
  connectionsPerClient: byDefault(256, whole(1)),
  headersTimeoutMs: byDefault(10_000, whole(1)),
  requestTimeoutMs: byDefault(30_000, whole(1)),
  writeTimeoutMs: byDefault(30_000, whole(1)),
  watchers: byDefault(64, whole(1)),
  watcherBytes: byDefault(1_048_576, whole(1)),
  keepAliveMs: byDefault(15_000, whole(1)),
  flushMs: byDefault(500, whole(1)),
} satisfies Options<ServerLimits>;

/** What a port needs before there is anything to serve. */
export interface PortOptions {
  /** Of the product: shown by `/healthz`, `/metrics` and the API's description. */
  readonly version: string;
  /**
   * Asked for on every route but `/healthz`, `/readyz`, signing in, and the page's own files, which hold
   * nothing. At least 256 random bits. Without one, only this machine can be served.
   */
  readonly token?: string | undefined;
  /**
   * Names besides those of this machine that requests may carry as their host, such as
   * `nova.example` or `nova.example:8443`. Without a port: any that is served, and none.
   */
  readonly hosts?: readonly string[] | undefined;
  readonly limits?: ServerLimits | undefined;
  readonly clock?: Clock | undefined;
  /**
   * Gets routes, codes and ids; never what a person said.
   * @default what is logged at `error` is written on standard error
   */
  readonly logger?: Logger | undefined;
}

/**
 * What a feature adds to the server. It is called once, while the server is made: it adds its routes to the
 * router, and publishes its events from then on. The router is for the features of this package.
 *
 * @returns what ends all of that, called when the server closes.
 */
export type ServerFeature = (router: never) => () => void;

export interface ServerOptions extends PortOptions {
  readonly throughline: Throughline;
  readonly turns: Turns;
  /** What is served beside the chats. The routes of a feature that is not here answer 404. @default [] */
  readonly features?: readonly ServerFeature[] | undefined;
  /** Names a defect, in its answer and in the log. */
  readonly newId?: NewId | undefined;
}

const portOptions = {
  token: maybe(),
  hosts: byDefault([]),
  limits: byDefault({}),
  clock: byDefault(systemClock),
  logger: byDefault(standardError),
  version: must(aName),
} satisfies Options<PortOptions>;

const { version, ...shared } = portOptions;
const serverOptions = {
  ...shared,
  features: byDefault([]),
  newId: byDefault(randomId),
  version,
  throughline: must(anObject),
  turns: must(anObject),
} satisfies Options<ServerOptions>;

/** The options of a port, checked and filled in. */
export type PortSettings = ReturnType<typeof resolvePort>;

/** @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: a weak token, a bad host name or limit. */
export function resolvePort(given: PortOptions) {
  return checkedPort(resolveOptions("the options of a port", given, portOptions));
}

/** The options, checked and filled in. */
export type Settings = ReturnType<typeof resolveServer>;

/** @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: a weak token, a bad host name or limit. */
export function resolveServer(given: ServerOptions) {
  return checkedPort(resolveOptions("the options of a server", given, serverOptions));
}

function checkedPort<O extends Resolved<PortOptions, typeof portOptions>>(options: O) {
  const { token, hosts, logger } = options;
  if (token !== undefined) checkToken(token);
  for (const name of hosts) checkHostName(name);
  const resolved = resolveOptions("limits", options.limits, limits);
  return { ...options, limits: resolved, logger: unfailing(logger) };
}
