import { open, readdir, realpath, unlink } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { Failed, isErrno, systemReason, wrongUsage } from "./failure.ts";

/** Makes an error that is about the path after `--out` say so. Any other error stays as it is. */
export function wrongOut(out: string, cause: unknown): unknown {
  if (!isAbout(out, cause)) return cause;
  return new Failed(`${out} cannot be written: ${systemReason(cause)}`, {
    code: "THROUGHLINE_CONFIGURATION",
    wayOut: "Pass another --out, in an existing folder that you can write to.",
    cause,
  });
}

/** Whether the error is about `--out`, and not about what is read to write it. */
function isAbout(out: string, error: unknown): boolean {
  const { path, errno } = error as NodeJS.ErrnoException;
  if (path === undefined || errno === undefined) return false;
  const [wanted, failed] = [resolve(out), resolve(path)];
  return failed.startsWith(wanted) || wanted.startsWith(failed + sep);
}

/**
 * Writes a new file, in bounded memory: all of it or none, readable by this user alone, and synced.
 *
 * Rejects with the reason of `signal` after an abort.
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: something is there already; it stays as it is.
 *   `THROUGHLINE_CONFIGURATION`: nothing can be written there.
 */
export async function writeNewFile(
  path: string,
  pieces: AsyncIterable<string>,
  signal: AbortSignal,
): Promise<void> {
  const file = await open(path, "wx", 0o600).catch((cause: unknown) => {
    if (!isErrno(cause, "EEXIST")) throw wrongOut(path, cause);
    throw new Failed(`${path} already exists`, {
      code: "THROUGHLINE_CONFLICT",
      wayOut: "Pass a new file name with --out. Nothing was overwritten.",
      cause,
    });
  });
  try {
    for await (const piece of pieces) {
      signal.throwIfAborted();
      await file.writeFile(piece);
    }
    await file.sync();
  } catch (error) {
    await unlink(path).catch(() => undefined); // the error that stopped it is the news
    throw error;
  } finally {
    await file.close();
  }
}

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
