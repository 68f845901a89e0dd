import { readFile, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, join, resolve } from "node:path";
import { isErrno } from "../cli/failure.ts";
import { bytes } from "../cli/format.ts";
import { type Io, tell } from "../cli/io.ts";
import {
  attachmentBounds,
  attachmentLimits,
  type GivenFile,
  takenFiles,
} from "../core/chat/attachments.ts";
import { printableLine } from "../core/chat/printable.ts";
import { isThroughlineError } from "../core/errors.ts";

/** The files that go with the next message of a terminal's chat. */
export class AttachedFiles {
  readonly #io: Io;
  #files: GivenFile[] = [];

  constructor(io: Io) {
    this.#io = io;
  }

  /** What goes with the message that is sent now. */
  get files(): readonly GivenFile[] {
    return this.#files;
  }

  clear(): void {
    this.#files = [];
  }

  /** Runs `/attach` and `/detach`. @returns whether the line was one of them. */
  async run(line: string): Promise<boolean> {
    const [, name, rest = ""] = /^\/(attach|detach)(?:\s+(.*?))?\s*$/i.exec(line) ?? [];
    if (name === undefined) return false;
    const adding = () => (rest === "" ? this.#list() : this.#add(rest));
    await tell(this.#io, await (name.toLowerCase() === "attach" ? adding() : this.#remove(rest)));
    return true;
  }

  #list(): string {
    if (this.#files.length === 0) {
      return "No files are attached. /attach PATH adds one to your next message.";
    }
    const lines = this.#files.map((file, index) => `${index + 1}. ${shown(file)}`);
    const all = lines.length === 1 ? next : "They go with your next message.";
    return `${lines.join("\n")}\n${all} /detach takes all of them back, /detach 1 only the first.`;
  }

  async #add(given: string): Promise<string> {
    const path = pathOf(given);
    try {
      const found = await stat(path);
      if (found.isDirectory()) return "(Not attached: it is a directory.)";
      if (!found.isFile()) return "(Not attached: it is not a regular file.)";
      const held = this.#files.reduce((sum, { bytes }) => sum + bytes.length, 0);
      // Not read where it cannot be sent.
      if (held + found.size > attachmentLimits.bytes) return `(Not attached: ${attachmentBounds}.)`;
      const file = { name: basename(path), bytes: await readFile(path) };
      takenFiles([...this.#files, file]);
      this.#files.push(file);
      return `${shown(file)} is attached. ${this.#files.length === 1 ? next : this.#count()}`;
    } catch (error) {
      return `(Not attached: ${reasonOf(error, path)}.)`;
    }
  }

  #count(): string {
    return `${this.#files.length} files go with your next message.`;
  }

  #remove(given: string): string {
    const { length } = this.#files;
    if (length === 0) return "No files are attached.";
    if (given === "") {
      this.clear();
      return length === 1
        ? "The file is not attached any more."
        : "No files are attached any more.";
    }
    const number = /^\d{1,2}$/.test(given) ? Number(given) : 0;
    const [removed] = number > 0 ? this.#files.splice(number - 1, 1) : [];
    if (removed === undefined)
      return "There is no such file. /attach lists them with their numbers.";
    return `${printableLine(removed.name)} is not attached any more.`;
  }
}

const next = "It goes with your next message.";

const shown = (file: GivenFile) => `${printableLine(file.name)} (${bytes(file.bytes.length)})`;

/** As a shell would read it: terminals put quotes around a path that is dropped onto them. */
function pathOf(given: string): string {
  const [, , quoted] = /^(["'])(.*)\1$/.exec(given) ?? [];
  const plain = quoted ?? (process.platform === "win32" ? given : given.replace(/\\(.)/g, "$1"));
  return plain === "~" || plain.startsWith("~/") ? join(homedir(), plain.slice(2)) : resolve(plain);
}

function reasonOf(error: unknown, path: string): string {
  if (isThroughlineError(error)) return error.message;
  const place = printableLine(path);
  if (isErrno(error, "ENOENT", "ENOTDIR")) return `there is no file ${place}`;
  if (isErrno(error, "EACCES", "EPERM")) return `${place} may not be read`;
  const { code } = error as NodeJS.ErrnoException;
  return `${place} cannot be read (${code ?? "unknown error"})`;
}
