import fs from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { randomId } from "../core/ids.ts";
import { isRunning } from "../core/storage/files/file-ports.ts";
import { Failed, isErrno, systemReason, wrongUsage } from "./failure.ts";

/** Makes an error that is about the path after `--out` say so. Any other error stays as it is. */
export function wrongOut(out: string, cause: unknown): unknown {
  return isAbout(out, cause) ? notWritten(out, cause) : cause;
}

/** Whether the error is about `--out`, and not about what is read to write it. */
function isAbout(out: string, error: unknown): boolean {
  const { path, errno } = error as NodeJS.ErrnoException;
  if (path === undefined || errno === undefined) return false;
  const [wanted, failed] = [resolve(out), resolve(path)];
  return failed.startsWith(wanted) || wanted.startsWith(failed + sep);
}

const notWritten = (out: string, cause: unknown) =>
  new Failed(`${out} cannot be written: ${systemReason(cause)}`, {
    code: "THROUGHLINE_CONFIGURATION",
    wayOut: "Pass another --out, in an existing folder that you can write to.",
    cause,
  });

const taken = (out: string, hasForce: boolean, cause: unknown) =>
  new Failed(`${out} already exists`, {
    code: "THROUGHLINE_CONFLICT",
    wayOut: `Pass another --out${hasForce ? ", or --force to overwrite" : ""}. Nothing was overwritten.`,
    cause,
  });

/** How a file is named until it is whole: by the process that writes it. */
const temporaryName = /^\.throughline-export-(\d+)-[0-9a-z]{18}\.tmp$/;

/** Removes what exports that were killed left in a folder, where this user may list and remove it. */
export async function removeLeftovers(folder: string): Promise<void> {
  const entries = await fs.readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    const [, pid] = temporaryName.exec(entry.name) ?? [];
    const isLeft = pid !== undefined && entry.isFile() && !isRunning(Number(pid));
    if (isLeft) await fs.rm(join(folder, entry.name), { force: true }).catch(() => undefined);
  }
}

/**
 * Writes a file in bounded memory: whole or not at all, readable by this user alone, and synced.
 *
 * Rejects as the pieces do, and with the reason of `signal` after an abort.
 * @param force overwrites an existing file; absent where the command has no such option.
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: something is there already; it stays as it is.
 *   `THROUGHLINE_CONFIGURATION`: nothing can be written there.
 */
export async function writeWhole(
  path: string,
  pieces: AsyncIterable<string>,
  { force, signal }: { readonly force?: boolean; readonly signal: AbortSignal },
): Promise<void> {
  const temporary = join(dirname(path), `.throughline-export-${process.pid}-${randomId()}.tmp`);
  const file = await fs.open(temporary, "wx", 0o600).catch((cause) => {
    throw notWritten(path, cause);
  });
  try {
    try {
      for await (const piece of pieces) {
        signal.throwIfAborted();
        await file.writeFile(piece);
      }
      await file.sync();
    } finally {
      await file.close();
    }
    signal.throwIfAborted();
    await (force ? fs.rename(temporary, path) : addName(temporary, path)).catch((cause) => {
      throw isErrno(cause, "EEXIST")
        ? taken(path, force !== undefined, cause)
        : notWritten(path, cause);
    });
  } finally {
    await fs.rm(temporary, { force: true });
  }
}

/** Gives a file another name, unless that is taken. Some file systems, as of memory sticks, have no links. */
async function addName(path: string, name: string): Promise<void> {
  await fs.link(path, name).catch(async (error) => {
    if (!isErrno(error, "EPERM", "ENOTSUP", "ENOSYS")) throw error;
    // A copy that is killed would leave a part under this name.
    await (await fs.open(name, "wx", 0o600)).close();
    await fs.rename(path, name).catch(async (cause) => {
      await fs.rm(name, { force: true });
      throw cause;
    });
  });
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
  const names = await fs.readdir(home).catch((error: unknown) => {
    if (!isErrno(error, "ENOENT", "ENOTDIR")) throw error;
  });
  if (names === undefined) return "outside";
  const place = await realPlace(resolve(path));
  const own = await fs.realpath(home);
  if (place === own) return "same";
  const folders = await Promise.all(names.map((name) => realPlace(join(home, name))));
  const all = [own, ...folders.filter((folder) => !isIn(own, folder))];
  return all.some((folder) => isIn(place, folder)) ? "inside" : "outside";
}

const isIn = (path: string, folder: string) => `${path}${sep}`.startsWith(`${folder}${sep}`);

/** The real path, of what is not there the one that it would have. */
async function realPlace(path: string): Promise<string> {
  const real = await fs.realpath(path).catch(() => undefined);
  if (real !== undefined || dirname(path) === path) return real ?? path;
  return join(await realPlace(dirname(path)), basename(path));
}
