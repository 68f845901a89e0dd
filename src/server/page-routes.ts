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

interface PageFile {
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Its name changes with its content. */
  readonly isHashed: boolean;
}

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
  const isFile = path === "/icon.svg" || path === "/THIRD-PARTY.txt";
  return isFile || viewPattern.test(path) || path.startsWith("/assets/");
}

/**
 * The page as it was built, from dist/web. Its files are read when the server is made, so that a
 * page that is built later does not mix with this one, and no name of a file comes from a request.
 *
 * @returns what a browser is shown at an address that is none: the page, which says so.
 */
export function addPage(router: Router): (request: Request) => Response | undefined {
  const files = readFiles();
  const html = new TextEncoder().encode(notBuilt);
  const index = files.get("/index.html") ?? {
    type: types["html"] ?? "",
    bytes: html,
    isHashed: false,
  };
  for (const path of views) router.serve("get", path, () => responseOf(index));
  for (const [path, file] of files) {
    if (path !== "/index.html") router.serve("get", path, () => responseOf(file));
  }
  return (request) => (isNavigation(request) ? responseOf(index, 404) : undefined);
}

/** Whether somebody typed or followed it: what a page loads, and what calls the API, wants no HTML. */
function isNavigation({ method, headers, url }: Request): boolean {
  const isRead = method === "GET" || method === "HEAD";
  const isApi = /^\/(?:api|assets)(?:\/|$)/.test(new URL(url).pathname);
  return isRead && !isApi && /\btext\/html\b/.test(headers.get("accept") ?? "");
}

function responseOf({ type, bytes, isHashed }: PageFile, status = 200): Response {
  const caching = isHashed ? "public, max-age=31536000, immutable" : "no-cache";
  // Given the bytes themselves, a response would copy them for every reader.
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(bytes);
      controller.close();
    },
  });
  return new Response(body, {
    status,
    headers: {
      "content-type": type,
      "cache-control": caching,
      "content-length": String(bytes.length),
    },
  });
}

/** By path; empty when the page is not built. */
function readFiles(): ReadonlyMap<string, PageFile> {
  const files = new Map<string, PageFile>();
  const folder = builtFolder();
  if (folder === undefined) return files;
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    const path = `/${name.replaceAll("\\", "/")}`;
    const type = types[path.split(".").at(-1) ?? ""];
    if (type === undefined) continue;
    const bytes = new Uint8Array(readFileSync(new URL(`.${path}`, folder)));
    files.set(path, { type, bytes, isHashed: path.startsWith("/assets/") });
  }
  return files;
}

/** Beside dist/server, or, run from the sources, in the project's dist. */
function builtFolder(): URL | undefined {
  const places = [new URL("../web/", import.meta.url), new URL("../../dist/web/", import.meta.url)];
  return places.find((place) => existsSync(new URL("index.html", place)));
}
