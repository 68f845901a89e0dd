import { join } from "node:path";
import { EditedFile, type EditedText } from "../../cli/edited-file.ts";
import { readStartOfOwnFile } from "../../cli/own-file.ts";
import { isThroughlineError } from "../../core/errors.ts";
import type { Logger } from "../../core/logger.ts";
import { factLines, factsChars } from "../facts.ts";

const factsName = "facts.md";

const maxFactsBytes = 64 * 1024;

/**
 * What to remember, as a person wrote it into `facts.md` of the home: plain text, a fact a line,
 * read again each time it is asked for. Without the file there is nothing to remember.
 */
export class FactsFile {
  readonly maxBytes = maxFactsBytes;
  /** A process that keeps nothing writes no file. */
  readonly isEditable: boolean;
  readonly #path: string;
  readonly #file: EditedFile;
  readonly #logger: Logger;
  #reported = "";

  constructor(home: string, logger: Logger, isEditable = true) {
    this.isEditable = isEditable;
    this.#path = join(home, factsName);
    this.#file = new EditedFile(this.#path, maxFactsBytes);
    this.#logger = logger;
  }

  /**
   * Never rejects: a file that cannot be read, or is no UTF-8 text, is reported, and counts as none. Of
   * one that is longer than 4,000 characters the facts that fit are used, and that is reported. A
   * problem that stays the same is reported once.
   */
  async startupContext(): Promise<string> {
    try {
      const text = plain(readStartOfOwnFile(this.#path, maxFactsBytes) ?? "");
      const isTooLong = factLines(text).some(({ used }) => used !== "whole");
      const problem = isTooLong ? `${factsName} is too long; the rest is not used` : "";
      this.#report({ limit: factsChars }, problem);
      return text;
    } catch (error) {
      if (!isThroughlineError(error)) throw error;
      this.#report({ error: error.code }, error.message);
      return "";
    }
  }

  /** The file as it is, for people to edit. One that is larger than 64 KiB has a problem. */
  read(): EditedText {
    return this.#file.read();
  }

  /** Replaces the file; a blank text removes it. @throws ThroughlineError as `EditedFile.write`. */
  write(text: string, version: string): void {
    const lines = plain(text);
    this.#file.write(lines === "" ? undefined : `${lines}\n`, version);
  }

  #report(fields: object, problem: string): void {
    if (problem !== "" && problem !== this.#reported) {
      this.#logger.warn({ path: this.#path, ...fields }, problem);
    }
    this.#reported = problem;
  }
}

function plain(text: string): string {
  return text.replace(/\r\n?/g, "\n").trim();
}
