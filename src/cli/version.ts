import { readFileSync } from "node:fs";

interface Package {
  readonly version: string;
}

/** What `package.json` says: two folders up from the sources and from what is built of them. */
export function ownPackage(): Package {
  const url = new URL("../../package.json", import.meta.url);
  return JSON.parse(readFileSync(url, "utf8")) as Package;
}
