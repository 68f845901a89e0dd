import { join } from "node:path";
import { builtInPersona } from "../core/turns/persona.ts";
import { readOwnFile } from "./own-file.ts";

export const personaName = "persona.md";

/** Its bound in bytes: every request carries it. */
const maxBytes = 64 * 1024;

/**
 * Who answers: `persona.md` of the home, else the `persona` of its configuration, else what is built
 * in. Read once, at the start: it is the same bytes turn after turn. A blank file says nothing, so
 * what stands behind it speaks; a file that is there and cannot be used is never passed over.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: the file cannot be read, is larger than
 * 64 KiB, or is not UTF-8; the message names it.
 */
export function findPersona(home: string, configured: string | undefined): string {
  const file = readOwnFile(join(home, personaName), maxBytes)?.trim();
  return file || configured || builtInPersona;
}
