import fs from "node:fs";
import { basename, dirname } from "node:path";
import { conflict, isThroughlineError, unavailable } from "../core/errors.ts";
import { tooLarge } from "../core/json.ts";
import { type Logger, silentLogger } from "../core/logger.ts";
import { misconfigured } from "../core/options.ts";
import { sha256 } from "../core/sha256.ts";
import { syncDirectoryNow } from "../core/storage/disk/disk.ts";

const mebibyte = 1024 * 1024;

/**
 * The text of a file that a person put into the home; `undefined` where there is none. A link is
 * followed, as people keep such files elsewhere; what is no plain file is refused, and never waited
 * for.
 *
 * @param maxBytes a larger file is refused.
 * @param isSecret so is one that other users can read, and no link is followed. @default false
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: it cannot be read, is too large, or is not
 * UTF-8; the message names it.
 */
export function readOwnFile(
  path: string,
  maxBytes = mebibyte,
  isSecret = false,
): string | undefined {
  const { O_RDONLY, O_NONBLOCK, O_NOFOLLOW } = fs.constants;
  let descriptor: number | undefined;
  try {
    // Opening a pipe would wait.
    const flags = O_RDONLY | (O_NONBLOCK ?? 0) | (isSecret ? (O_NOFOLLOW ?? 0) : 0);
    descriptor = fs.openSync(path, flags);
    const stats = fs.fstatSync(descriptor);
    if (!stats.isFile()) throw misconfigured(`${path} is not a regular file`);
    if (isSecret) checkMode(path, stats);
    if (stats.size > maxBytes) {
      const limit = maxBytes < mebibyte ? `${maxBytes / 1024} KiB` : `${maxBytes / mebibyte} MiB`;
      throw misconfigured(`${path} is larger than ${limit}`);
    }
    return decode(path, fs.readFileSync(descriptor));
  } catch (cause) {
    if (isThroughlineError(cause)) throw cause;
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined; // a home that is not a directory is reported elsewhere
    throw misconfigured(`${path} cannot be read (${code})`, cause);
  } finally {
    if (descriptor !== undefined) fs.closeSync(descriptor);
  }
}

function checkMode(path: string, { mode }: fs.Stats): void {
  if (process.getuid === undefined || (mode & 0o077) === 0) return;
  throw misconfigured(
    `other users can read ${path}. Run chmod 600 ${path}, and use a new token if they have read it`,
  );
}

function decode(path: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw misconfigured(`${path} is not UTF-8`, cause);
  }
}

/** A text that a person wrote, and a name for exactly these bytes. */
export interface EditedText {
  /** `undefined`: there is no file. */
  readonly text: string | undefined;
  /** Give it back with a change, so that no other change is lost. "": there is no file to read. */
  readonly version: string;
  /** Why the file that is there cannot be read; it names the file without its folder. */
  readonly problem: string | undefined;
}

/** Most bytes of such a file. */
export const editedBytes = 64 * 1024;

/** A text file of the home that people edit by hand, and a program may edit too. */
export class EditedFile {
  readonly #path: string;
  readonly #name: string;
  readonly #isEditable: boolean;
  readonly #logger: Logger;
  #reported = "";

  /** @param isEditable a process that keeps nothing writes no file. */
  constructor(path: string, logger: Logger = silentLogger, isEditable = true) {
    this.#path = path;
    this.#name = basename(path);
    this.#logger = logger;
    this.#isEditable = isEditable;
  }

  read(): EditedText {
    try {
      return textAs(readOwnFile(this.#path, editedBytes));
    } catch (error) {
      if (!isThroughlineError(error)) throw error;
      const problem = error.message.replace(this.#path, this.#name);
      return { text: undefined, version: "", problem };
    }
  }

  /** What people who edit it are shown beside the text. */
  shown({ version, problem }: EditedText) {
    const editable = this.#isEditable;
    return { version, problem: problem ?? null, editable, max_bytes: editedBytes };
  }

  /** Logs a problem, once for as long as it stays the same; "" is none. */
  protected report(problem: string): void {
    if (problem !== "" && problem !== this.#reported) {
      this.#logger.warn({ problem }, `${this.#name} cannot be used as it is`);
    }
    this.#reported = problem;
  }

  /**
   * Replaces the file, or removes it. Returns once that survives a power cut; after a crash the file is
   * the old one or the new one. A link stays, and the file that it leads to is replaced. The new file
   * can be read by its owner alone.
   *
   * @param version what the change was made from.
   * @throws ThroughlineError `THROUGHLINE_CONFLICT`: the file has changed since, cannot be read or is not editable.
   *   `THROUGHLINE_TOO_LARGE`. `THROUGHLINE_UNAVAILABLE`: it cannot be written; nothing was changed.
   */
  write(text: string | undefined, version: string): EditedText {
    if (!this.#isEditable) {
      const name = this.#name;
      throw conflict(`this server keeps nothing. Start it without --ephemeral to edit ${name}`);
    }
    if (text !== undefined && Buffer.byteLength(text) > editedBytes) {
      throw tooLarge(`this text is larger than ${editedBytes / 1024} KiB`);
    }
    this.#assertIs(version);
    try {
      const path = target(this.#path);
      if (text === undefined) fs.rmSync(path, { force: true });
      else replace(path, text);
      syncDirectoryNow(dirname(path));
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException;
      throw unavailable(`${this.#name} cannot be written (${code}). Nothing was changed`, cause);
    }
    return textAs(text);
  }

  #assertIs(version: string): void {
    const { version: found, problem } = this.read();
    if (problem !== undefined) throw conflict(`${problem}. Correct the file by hand`);
    if (found === version) return;
    throw conflict(`${this.#name} was changed since it was read. Read it again`);
  }
}

function textAs(text: string | undefined): EditedText {
  const version = text === undefined ? "" : sha256(text).toString("hex").slice(0, 32);
  return { text, version, problem: undefined };
}

/** Where a link leads to; a link to nothing is replaced. */
function target(path: string): string {
  try {
    return fs.realpathSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return path;
    throw error;
  }
}

function replace(path: string, text: string): void {
  fs.mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.new`;
  fs.rmSync(draft, { force: true }); // of a process that died
  try {
    fs.writeFileSync(draft, text, { flag: "wx", mode: 0o600, flush: true });
  } catch (error) {
    fs.rmSync(draft, { force: true });
    throw error;
  }
  fs.renameSync(draft, path);
}
