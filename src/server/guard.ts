import { isIPv6 } from "node:net";
import { misconfigured } from "../core/options.ts";

/** The hosts that requests may name, each with the origins that a page of it has. */
export type AllowedHosts = ReadonlyMap<string, readonly string[]>;

/** What the guard looks at. A header that came twice is joined by ", " and so equals nothing. */
interface GuardedRequest {
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** `Sec-Fetch-Site`. Browsers leave it out for plain-http names: depth, not the wall. */
  readonly site: string | undefined;
  /** `Sec-Fetch-Mode` and `Sec-Fetch-Dest`. */
  readonly mode: string | undefined;
  readonly dest: string | undefined;
  /** Whether it reads a file or view of the page: they hold no data. */
  readonly readsPage: boolean;
  readonly url: URL;
  /** The request's target as it came over the wire, where that is known. */
  readonly target: string | undefined;
}

/**
 * Why a request is turned away, whatever its route; `undefined` if it is not. Only the exact host
 * names stop a page of another site whose name was made to point here.
 */
export function refusalOf(request: GuardedRequest, hosts: AllowedHosts): string | undefined {
  const { origin, site, url, target } = request;
  const host = request.host?.toLowerCase();
  if (target !== undefined && !target.startsWith("/")) return "the request's target is no path";
  const origins = host === undefined ? undefined : hosts.get(host);
  if (origins === undefined || url.host !== host) return "this server has no such host name";
  if (origin !== undefined && !origins.includes(origin)) return "other origins may not do that";
  if (site !== undefined && site !== "same-origin" && site !== "none" && !followsLink(request)) {
    return "other sites may not do that";
  }
  return undefined;
}

/** Whether a browser opens the page by a link, from wherever. In a frame it would be no document. */
function followsLink({ mode, dest, readsPage }: GuardedRequest): boolean {
  return readsPage && mode === "navigate" && dest === "document";
}

/** What a URL parser would change or drop before the routes see it. */
export function isAmbiguous(target: string): boolean {
  const [path = ""] = target.split("?", 1);
  if (/[#\\]/.test(target)) return true;
  return path.split("/").some((part) => /^(\.|%2e){1,2}$/i.test(part));
}

/** Whether every percent-encoding in a path or query is whole, and UTF-8. */
export function isDecodable(text: string): boolean {
  try {
    // What is only called to throw a bundler takes for unused.
    return decodeURIComponent(text) !== undefined;
  } catch {
    return false; // a URIError: that is the answer
  }
}

/** Every name that this machine is known by to itself, the address that is served, and `names`. */
export function allowedHosts(
  address: { readonly host: string; readonly port: number },
  names: readonly string[],
): AllowedHosts {
  const { host, port } = address;
  const own = ["127.0.0.1", "localhost", "[::1]"];
  if (!isEverywhere(host)) own.push(bracketed(host));
  const hosts = new Map<string, readonly string[]>();
  for (const name of own) {
    const served = withPort(name, port);
    hosts.set(served, [`http://${served}`]);
  }
  for (const name of names) {
    // Behind a proxy that ends TLS, the browser's origin is not ours.
    const all = /:\d+$/.test(name) ? [name] : [name, withPort(name, port)];
    for (const each of all) hosts.set(each, [`http://${each}`, `https://${each}`]);
  }
  return hosts;
}

/** @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: not a host name, such as a pattern or a URL. */
export function checkHostName(name: string): void {
  const isName = /^([a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(:[1-9]\d{0,4})?$/.test(name);
  if (isName && URL.canParse(`http://${name}/`)) return;
  throw misconfigured("a host is a name in lower case, with or without a port");
}

/** Whether only this machine reaches an address. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
}

/** Whether it stands for every address of this machine. */
export function isEverywhere(host: string): boolean {
  return ["0.0.0.0", "::"].includes(host);
}

export function bracketed(host: string): string {
  return host.includes(":") && isIPv6(host) ? `[${host}]` : host;
}

/** As browsers write it: without the port that is http's own. */
function withPort(name: string, port: number): string {
  return port === 80 ? name : `${name}:${port}`;
}

/** Only what this server serves itself may run, load or be talked to; no other page may frame it. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "media-src 'self'",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

/**
 * For a file that a person or another machine made: a browser stores it, and runs nothing of it. Pictures
 * and sound can still be shown by the page.
 */
export function foreignFile(fileName: string, type: string) {
  return {
    "content-type": type,
    "content-disposition": `attachment; filename="${fileName}"`,
    "content-security-policy": "default-src 'none'; sandbox",
  };
}

/** On every response, refusals included. There is no header that lets another origin in. */
export const securityHeaders = {
  "content-security-policy": contentSecurityPolicy,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
} as const;
