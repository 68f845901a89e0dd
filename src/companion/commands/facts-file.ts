import { join } from "node:path";
import { readStartOfOwnFile } from "../../cli/own-file.ts";
import { isThroughlineError } from "../../core/errors.ts";
import type { Logger } from "../../core/logger.ts";
import type { MemoryProvider } from "../facts.ts";

const factsName = "facts.md";

/** Bounds of what is read, in bytes, and of what is used, in UTF-16 code units. */
const maxBytes = 64 * 1024;
const maxCharacters = 4_000;

/**
 * What to remember, as a person wrote it into `facts.md` of the home: plain text, a fact a line,
 * read again each time it is asked for. Without the file there is nothing to remember. Never rejects:
 * a file that cannot be read, or is no UTF-8 text, is reported, and counts as none. One that is
 * longer than 4,000 characters is used up to the last line that ends before, and that is reported.
 * A problem that stays the same is reported once.
 */
export function factsFile(home: string, logger: Logger): MemoryProvider {
  const path = join(home, factsName);
  let reported = "";
  const report = (fields: object, problem: string) => {
    if (problem !== "" && problem !== reported) logger.warn({ path, ...fields }, problem);
    reported = problem;
  };
  return {
    async startupContext() {
      try {
        const text = readStartOfOwnFile(path, maxBytes)?.replace(/\r\n?/g, "\n").trim() ?? "";
        const used = wholeLines(text);
        const isTooLong = used.length < text.length;
        const problem = isTooLong ? `${factsName} is too long; the rest is not used` : "";
        report({ used: used.length, limit: maxCharacters }, problem);
        return used;
      } catch (error) {
        if (!isThroughlineError(error)) throw error;
        report({ error: error.code }, error.message);
        return "";
      }
    },
  };
}

/** The lines within the bound; of a first line that is longer, as much as it takes. */
function wholeLines(text: string): string {
  if (text.length <= maxCharacters) return text;
  const end = text.lastIndexOf("\n", maxCharacters);
  if (end > 0) return text.slice(0, end).trimEnd();
  const isPairCut = /[\ud800-\udbff]/.test(text.charAt(maxCharacters - 1));
  return text.slice(0, isPairCut ? maxCharacters - 1 : maxCharacters);
}
