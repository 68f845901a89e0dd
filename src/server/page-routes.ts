import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import type { Router } from "./router.ts";

/** Files with another ending are not served. */
const types: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  json: "application/json",
  png: "image/png",
  svg: "image/svg+xml",
  txt: "text/plain; charset=utf-8",
  woff2: "font/woff2",
};

/** The addresses of the page's views: each answers with the page, which shows what belongs there. */
const views = [
  ...["/", "/chats", "/chats/{id}", "/mood", "/waking", "/sessions", "/memory", "/moments"],
] as const;
const viewPattern = /^\/((chats(\/[^/]+)?|mood|waking|sessions|memory|moments)?)$/;

/** The smaller forms of a file that the build may have made, the best first, and their endings. */
const encodings = [
  ["br", ".br"],
  ["gzip", ".gz"],
] as const;

interface PageFile {
  readonly type: string;
  /** As it is, under `identity`, and in smaller forms under the names of their encodings. */
  readonly forms: ReadonlyMap<string, Form>;
  /** Its name changes with its content. */
  readonly isHashed: boolean;
}

interface Form {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Names these bytes, as `ETag` has it. */
  readonly tag: string;
}

/** Files beside the page whose names stay. */
const files: readonly string[] = ["/icon.svg", "/theme.js", "/THIRD-PARTY.txt"];

const notBuilt = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Throughline</title>
<h1>The page is not built</h1>
<p>The server runs, and its API answers. In the project's folder,
<code>node scripts/build-page.ts</code> builds the page; then start the server again.</p>
</html>
`;

/**
 * Whether a path is of the page's own files or views. They are the same for everyone and hold
 * nothing, so they can be loaded without signing in.
 */
export function isPagePath(path: string): boolean {
  return files.includes(path) || viewPattern.test(path) || path.startsWith("/assets/");
}

/**
 * The page as it was built, from dist/web. Its files are read when the server is made, so that a
 * page that is built later does not mix with this one, and no name of a file comes from a request.
 *
 * @returns what a browser is shown at an address that is none: the page, which says so.
 */
export function addPage(router: Router): (request: Request) => Response | undefined {
  const built = readFiles();
  const index = built.get("/index.html") ?? {
    type: types["html"] ?? "",
    forms: new Map([["identity", formOf(new TextEncoder().encode(notBuilt))]]),
    isHashed: false,
  };
  for (const path of views) router.serve("get", path, ({ req }) => responseOf(index, req.raw));
  for (const [path, file] of built) {
    if (path !== "/index.html") router.serve("get", path, ({ req }) => responseOf(file, req.raw));
  }
  return (request) => (isNavigation(request) ? responseOf(index, request, 404) : undefined);
}

/** Whether somebody typed or followed it: what a page loads, and what calls the API, wants no HTML. */
function isNavigation({ method, headers, url }: Request): boolean {
  const isRead = method === "GET" || method === "HEAD";
  const isApi = /^\/(?:api|assets)(?:\/|$)/.test(new URL(url).pathname);
  return isRead && !isApi && /\btext\/html\b/.test(headers.get("accept") ?? "");
}

function responseOf(file: PageFile, { headers }: Request, status = 200): Response {
  const { type, forms, isHashed } = file;
  const encoding = encodingFor(headers.get("accept-encoding") ?? "", [...forms.keys()]);
  const { bytes, tag } = forms.get(encoding) ?? formOf(new Uint8Array());
  const shared = {
    "cache-control": isHashed ? "public, max-age=31536000, immutable" : "no-cache",
    etag: tag,
    vary: "Accept-Encoding",
  };
  if (status === 200 && isKnown(headers.get("if-none-match") ?? "", tag)) {
    return new Response(null, { status: 304, headers: shared });
  }
  // Given the bytes themselves, a response would copy them for every reader.
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(bytes);
      controller.close();
    },
  });
  const response = new Response(body, { status, headers: shared });
  response.headers.set("content-type", type);
  response.headers.set("content-length", String(bytes.length));
  if (encoding !== "identity") response.headers.set("content-encoding", encoding);
  return response;
}

/** Whether a client that holds these forms has this one: RFC 9110, 13.1.2. */
function isKnown(held: string, tag: string): boolean {
  return held.split(",").some((each) => each.trim().replace(/^W\//, "") === tag);
}

/**
 * The form in which a client takes a file: of those that it gives the most weight, the first. One that
 * refuses all of them gets the file as it is: RFC 9110, 12.5.3.
 *
 * @param there the encodings that there are, the best first.
 */
function encodingFor(accepted: string, there: readonly string[]): string {
  const weights = new Map<string, number>();
  for (const part of accepted.toLowerCase().split(",")) {
    const [name = "", ...parameters] = part.split(";").map((each) => each.trim());
    const weight = parameters.find((each) => each.startsWith("q="))?.slice(2);
    weights.set(name, weight === undefined ? 1 : Number(weight) || 0);
  }
  const weightOf = (name: string) => weights.get(name) ?? weights.get("*") ?? 0;
  const best = there.filter((name) => name !== "identity" && weightOf(name) > 0);
  const [first = "identity"] = best.sort((a, b) => weightOf(b) - weightOf(a));
  return weightOf(first) < (weights.get("identity") ?? 0) ? "identity" : first;
}

/** By path; empty when the page is not built. */
function readFiles(): ReadonlyMap<string, PageFile> {
  const built = new Map<string, PageFile>();
  const folder = builtFolder();
  if (folder === undefined) return built;
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    const path = `/${name.replaceAll("\\", "/")}`;
    const type = types[path.split(".").at(-1) ?? ""];
    if (type === undefined) continue;
    const forms = new Map<string, Form>();
    for (const [encoding, ending] of encodings) {
      const smaller = new URL(`.${path}${ending}`, folder);
      if (existsSync(smaller)) forms.set(encoding, formOf(new Uint8Array(readFileSync(smaller))));
    }
    forms.set("identity", formOf(new Uint8Array(readFileSync(new URL(`.${path}`, folder)))));
    built.set(path, { type, forms, isHashed: path.startsWith("/assets/") });
  }
  return built;
}

function formOf(bytes: Uint8Array<ArrayBuffer>): Form {
  const digest = createHash("sha256").update(bytes).digest("base64url");
  return { bytes, tag: `"${digest.slice(0, 22)}"` };
}

/** Beside dist/server, or, run from the sources, in the project's dist. */
function builtFolder(): URL | undefined {
  const places = [new URL("../web/", import.meta.url), new URL("../../dist/web/", import.meta.url)];
  return places.find((place) => existsSync(new URL("index.html", place)));
}
