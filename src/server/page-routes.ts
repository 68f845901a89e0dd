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

/** The forms of a file that the build may have made, the best first, by their endings. */
const encodings = { ".br": "br", ".gz": "gzip", "": undefined } as const;

interface PageFile {
  readonly type: string;
  readonly forms: readonly Form[];
  /** Its name changes with its content. */
  readonly isHashed: boolean;
}

interface Form {
  /** `undefined`: the file as it is. */
  readonly encoding: string | undefined;
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
    forms: [formOf(undefined, new TextEncoder().encode(notBuilt))],
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
  const accepted = headers.get("accept-encoding") ?? "";
  const form = file.forms.find(
    ({ encoding }) => encoding === undefined || takes(accepted, encoding),
  );
  const { encoding, bytes, tag } = form ?? formOf(undefined, new Uint8Array());
  const shared = {
    "cache-control": file.isHashed ? "public, max-age=31536000, immutable" : "no-cache",
    etag: tag,
    vary: "Accept-Encoding",
  };
  // A weak tag of a cache names the same bytes: RFC 9110, 13.1.2.
  const isKnown = (headers.get("if-none-match") ?? "").includes(tag);
  if (status === 200 && isKnown) return new Response(null, { status: 304, headers: shared });
  // Given the bytes themselves, a response would copy them for every reader.
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(bytes);
      controller.close();
    },
  });
  const response = new Response(body, { status, headers: shared });
  response.headers.set("content-type", file.type);
  response.headers.set("content-length", String(bytes.length));
  if (encoding !== undefined) response.headers.set("content-encoding", encoding);
  return response;
}

/** Whether a client names an encoding, with any weight but 0. */
function takes(accepted: string, encoding: string): boolean {
  return accepted.split(",").some((each) => {
    const [name = "", weight] = each
      .trim()
      .toLowerCase()
      .split(/\s*;\s*q=/);
    return name === encoding && Number(weight) !== 0;
  });
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
    const forms = Object.entries(encodings).flatMap(([ending, encoding]) => {
      const place = new URL(`.${path}${ending}`, folder);
      return existsSync(place) ? [formOf(encoding, new Uint8Array(readFileSync(place)))] : [];
    });
    built.set(path, { type, forms, isHashed: path.startsWith("/assets/") });
  }
  return built;
}

function formOf(encoding: string | undefined, bytes: Uint8Array<ArrayBuffer>): Form {
  const digest = createHash("sha256").update(bytes).digest("base64url");
  return { encoding, bytes, tag: `"${digest.slice(0, 22)}"` };
}

/** Beside dist/server, or, run from the sources, in the project's dist. */
function builtFolder(): URL | undefined {
  const places = [new URL("../web/", import.meta.url), new URL("../../dist/web/", import.meta.url)];
  return places.find((place) => existsSync(new URL("index.html", place)));
}
