import { readFile } from "node:fs/promises";
import type { Door } from "./door.ts";

const files = {
  "/": { name: "index.html", type: "text/html; charset=utf-8" },
  "/page.css": { name: "page.css", type: "text/css; charset=utf-8" },
  "/page.js": { name: "page.js", type: "text/javascript; charset=utf-8" },
  "/icon.svg": { name: "icon.svg", type: "image/svg+xml" },
} as const;

/** The page's own files: the same for everyone, so nobody has to be signed in to load them. */
export const pagePaths: readonly string[] = Object.keys(files);

/** The page, from the folder beside this file. No name of a file comes from a request. */
export function addPage(door: Door): void {
  for (const [path, { name, type }] of Object.entries(files)) {
    door.serve("get", path, async () => {
      const bytes = await readFile(new URL(`./page/${name}`, import.meta.url));
      const headers = { "content-type": type, "cache-control": "no-cache" };
      return new Response(new Uint8Array(bytes), { headers });
    });
  }
}
