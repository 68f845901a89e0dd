import { join } from "node:path";
import { EditedFile, type EditedText } from "../../cli/own-file.ts";
import type { Logger } from "../../core/logger.ts";
import { factLines } from "../facts.ts";

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
   * Never rejects: a file that cannot be used is reported, and counts as none. Of one that is longer than 4,000
   * characters the facts that fit are used, and that is reported. A problem that stays the same is reported once.
   */
  async startupContext(): Promise<string> {
    const { text = "", problem = "" } = this.read();
    const facts = plain(text);
    const isTooLong = factLines(facts).some(({ used }) => used !== "whole");
    this.#report(isTooLong ? `${factsName} is too long; the rest is not used` : problem);
    return facts;
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

  #report(problem: string): void {
    if (problem !== "" && problem !== this.#reported) {
      this.#logger.warn({ path: this.#path }, problem);
    }
    this.#reported = problem;
  }
}

function plain(text: string): string {
  return text.replace(/\r\n?/g, "\n").trim();
}
