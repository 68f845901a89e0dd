import { readdir, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { isErrno, wrongUsage } from "./failure.ts";

/** Keeps `--out` away from the companion's own files. */
export async function assertOutsideHome(out: string, home: string): Promise<void> {
  if ((await placeToHome(out, home)) === "outside") return;
  throw wrongUsage(`--out ${out} is inside the home ${home}. Choose a place outside of it`);
}

/**
 * Where a path lies, whatever links lead there, and whether or not anything is there yet. A folder that
 * a link in the home leads to is inside too, unless the home lies in it. A home that is not there has no inside.
 */
export async function placeToHome(
  path: string,
  home: string,
): Promise<"same" | "inside" | "outside"> {
  const names = await readdir(home).catch((error: unknown) => {
    if (!isErrno(error, "ENOENT", "ENOTDIR")) throw error;
  });
  if (names === undefined) return "outside";
  const place = await realPlace(resolve(path));
  const own = await realpath(home);
  if (place === own) return "same";
  const folders = await Promise.all(names.map((name) => realPlace(join(home, name))));
  const all = [own, ...folders.filter((folder) => !isIn(own, folder))];
  return all.some((folder) => isIn(place, folder)) ? "inside" : "outside";
}

const isIn = (path: string, folder: string) => `${path}${sep}`.startsWith(`${folder}${sep}`);

/** The real path, of what is not there the one that it would have. */
async function realPlace(path: string): Promise<string> {
  const real = await realpath(path).catch(() => undefined);
  if (real !== undefined || dirname(path) === path) return real ?? path;
  return join(await realPlace(dirname(path)), basename(path));
}
