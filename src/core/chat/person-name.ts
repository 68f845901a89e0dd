// Who of a group said something, and how a model is told.

import { invalid } from "../errors.ts";

/** Whether a person can have this name: 1 to 200 characters on one line, well-formed and not blank. */
export function isPersonName(name: unknown): name is string {
  if (typeof name !== "string" || name.length > 200 || name.trim() === "") return false;
  return name.isWellFormed() && !/[\p{Cc}\u2028\u2029]/u.test(name);
}

/** @throws ThroughlineError `THROUGHLINE_INVALID`: it is given, and no name of a person. */
export function checkPersonName(name: unknown): void {
  if (name === undefined || isPersonName(name)) return;
  throw invalid("the name of a person must be 1 to 200 characters on one line");
}

/** The place before a line that begins as a name does. */
const likeName = /^(?=\p{Cf}*"(?:[^"\\\r\n]|\\.)*"[ \t]*:)/gmu;

/**
 * Puts the name of its person before a text. A line of the text that begins like a name is indented, so
 * that no person can speak for another. Without a name the text stays as it is.
 */
export function withName(name: string | undefined, text: string): string {
  if (name === undefined) return text;
  const said = text.replace(likeName, " ");
  return `${JSON.stringify(name)}:${said === "" ? "" : ` ${said}`}`;
}

/** Removes the name that `withName` put before a text, also if files were named after it. */
export function withoutName(name: string | undefined, content: string): string {
  const lead = `${JSON.stringify(name)}:`;
  if (name === undefined || !content.startsWith(lead)) return content;
  return content.slice(lead.length).replace(/^(?: |\n\n)/, "");
}
