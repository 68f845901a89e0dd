import { readFile, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, join, resolve } from "node:path";
import { systemReason } from "../cli/failure.ts";
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

  /** What goes with the next message. */
  get files(): readonly GivenFile[] {
    return this.#files;
  }

  clear(): void {
    this.#files = [];
  }

  /** Runs `/attach` and `/detach`. @returns whether the line was one of them. */
  async run(line: string): Promise<boolean> {
    const [, name, path = ""] = /^\/(attach|detach)(?:\s+(.*?))?\s*$/i.exec(line) ?? [];
    if (name === undefined) return false;
    const isAttach = name.toLowerCase() === "attach";
    await tell(this.#io, isAttach && path !== "" ? await this.#add(path) : this.#list(isAttach));
    return true;
  }

  /** Tells what is attached, and whether it stays so. */
  #list(stays: boolean): string {
    const names = this.#files.map(shown);
    if (!stays) this.clear();
    if (names.length === 0) {
      return "No files are attached. /attach PATH adds one to your next message.";
    }
    if (!stays) return `Not attached any more: ${names.join(", ")}.`;
    return `Attached to your next message: ${names.join(", ")}. /detach takes them back.`;
  }

  async #add(given: string): Promise<string> {
    const path = pathOf(given);
    try {
      const found = await stat(path);
      if (!found.isFile()) return "(Not attached: it is not a regular file.)";
      const held = this.#files.reduce((sum, { bytes }) => sum + bytes.length, 0);
      // Not read where it cannot be sent.
      if (held + found.size > attachmentLimits.bytes) return `(Not attached: ${attachmentBounds}.)`;
      const file = { name: basename(path), bytes: await readFile(path) };
      takenFiles([...this.#files, file]);
      this.#files.push(file);
      const { length } = this.#files;
      const all = length === 1 ? "It goes" : `${length} files go`;
      return `${shown(file)} is attached. ${all} with your next message.`;
    } catch (error) {
      if (isThroughlineError(error)) return `(Not attached: ${error.message}.)`;
      return `(Not attached: ${printableLine(path)}: ${systemReason(error)}.)`;
    }
  }
}

const shown = (file: GivenFile) => `${printableLine(file.name)} (${bytes(file.bytes.length)})`;

/** As a shell would read it: terminals put quotes around a path that is dropped onto them. */
function pathOf(given: string): string {
  const [, , quoted] = /^(["'])(.*)\1$/.exec(given) ?? [];
  const plain = quoted ?? (process.platform === "win32" ? given : given.replace(/\\(.)/g, "$1"));
  return plain === "~" || plain.startsWith("~/") ? join(homedir(), plain.slice(2)) : resolve(plain);
}
