// The note beside the lock: whom to name when somebody else is refused, and where that process serves
// the home. It is never asked whether the holder lives: that is the lock's own answer.
import fs from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { isJsonObject } from "../../json.ts";
import { isRunning } from "./file-ports.ts";

interface Holder {
  readonly pid: number;
  readonly host: string;
  /** When the home was taken: ISO 8601. */
  readonly since: string;
  /** Where the holder serves the home over HTTP; absent if it does not. */
  readonly url?: string | undefined;
  /** The absolute path of the file with that server's token, never the token. Absent if it has no such file. */
  readonly token_file?: string | undefined;
}

/** A server that holds a home. */
type HomeServer = { readonly url: string } & Pick<Holder, "token_file">;

const name = "lock.json";

/** Writes the note, mode 0600. Only the holder of the lock calls this. Who finds none or half of it looks again. */
export function writeHolder(home: string, holder: Holder): void {
  const path = join(home, name);
  fs.rmSync(path, { force: true });
  const descriptor = fs.openSync(path, "wx", 0o600);
  try {
    fs.fchmodSync(descriptor, 0o600); // whatever the umask
    fs.writeSync(descriptor, `${JSON.stringify(holder)}\n`);
  } finally {
    fs.closeSync(descriptor);
  }
}

/** Takes the note away, before the lock is freed. */
export function removeHolder(home: string): void {
  try {
    fs.rmSync(join(home, name), { force: true });
  } catch {
    // A note that stays does no harm: the lock decides, and the next holder replaces it.
  }
}

/**
 * Adds to the note where this process serves the home. Only the holder of the lock calls this, after its
 * own note was written. The lock's release removes all of it.
 *
 * @returns whether it was noted: not if the note could not be written when the home was taken.
 */
export function noteServer(home: string, { url, token_file }: HomeServer): boolean {
  const holder = readHolder(home);
  if (holder?.pid !== process.pid || holder.host !== hostname()) return false;
  const { pid, host, since } = holder;
  writeHolder(home, { pid, host, since, url, token_file });
  return true;
}

/** Where the holder of the lock that was just refused serves the home; `undefined`: it does not. */
export function serverOf(home: string): HomeServer | undefined {
  const { url, token_file } = holderOf(home) ?? {};
  return url === undefined ? undefined : { url, token_file };
}

/**
 * Who holds the lock that was just refused. The holder writes its note a moment after it got the
 * lock, so a note that is missing, or names a process that is gone, is looked at again for at most
 * 300 ms; `undefined` if there is none then.
 */
export function holderOf(home: string): Holder | undefined {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  let holder = readHolder(home);
  for (let tries = 0; tries < 30 && (holder === undefined || isGone(holder)); tries++) {
    Atomics.wait(pause, 0, 0, 10);
    holder = readHolder(home);
  }
  return holder !== undefined && isGone(holder) ? undefined : holder;
}

function readHolder(home: string): Holder | undefined {
  const path = join(home, name);
  try {
    const stats = fs.lstatSync(path);
    if (!stats.isFile() || stats.size > 4096) return undefined; // a pipe would hold us up
    const value: unknown = JSON.parse(fs.readFileSync(path, "utf8"));
    if (!isJsonObject(value)) return undefined;
    const { pid, host, since, url, token_file } = value;
    if (typeof pid !== "number" || !Number.isSafeInteger(pid) || pid < 1) return undefined;
    if (typeof host !== "string" || typeof since !== "string") return undefined;
    const holder = { pid, host, since };
    if (typeof url !== "string" || !/^https?:$/.test(URL.parse(url)?.protocol ?? "")) return holder;
    return { ...holder, url, token_file: typeof token_file === "string" ? token_file : undefined };
  } catch {
    return undefined; // not there yet, or not ours: the refusal then names no holder
  }
}

/** Whether a note was left by a dead process of this machine. Decides what is said, nothing else. */
function isGone({ pid, host }: Holder): boolean {
  return host === hostname() && pid !== process.pid && !isRunning(pid);
}
