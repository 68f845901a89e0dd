import { join } from "node:path";
import { EditedFile } from "../../cli/own-file.ts";
import type { Logger } from "../../core/logger.ts";
import { factLines } from "../facts.ts";

/**
 * What to remember, as a person wrote it into `facts.md` of the home: plain text, a fact a line,
 * read again each time it is asked for. Without the file there is nothing to remember.
 */
export class FactsFile extends EditedFile {
  constructor(home: string, logger: Logger, isEditable = true) {
    super(join(home, "facts.md"), logger, isEditable);
  }

  /**
   * Never rejects: a file that cannot be used is reported, and counts as none. Of one that is longer than 4,000
   * characters the facts that fit are used, and that is reported.
   */
  async startupContext(): Promise<string> {
    const { text = "", problem = "" } = this.read();
    const facts = plain(text);
    const isTooLong = factLines(facts).some(({ used }) => used !== "whole");
    this.report(isTooLong ? "facts.md is too long; the rest is not used" : problem);
    return facts;
  }

  /** Replaces the file; a blank text removes it. @throws ThroughlineError as `EditedFile.write`. */
  override write(text: string, version: string) {
    const lines = plain(text);
    return super.write(lines === "" ? undefined : `${lines}\n`, version);
  }
}

function plain(text: string): string {
  return text.replace(/\r\n?/g, "\n").trim();
}
