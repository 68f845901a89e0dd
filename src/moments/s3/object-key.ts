/** Longest part of a key that comes from a session's id. */
const maxLength = 100;

/**
 * The prefix of every object of a package, with its last slash: `feedback/<session_id>/<name>/`.
 *
 * What a session's id holds besides letters, digits, `.`, `_` and `-` becomes `_`; it is cut at 100
 * characters; `""`, `.` and `..` become `unknown`. Ids of this project's own stay as they are.
 *
 * Source: the key layout of the original, whose empty id gave `feedback//`.
 */
export function keyPrefix(sessionId: string, name: string): string {
  const safe = sessionId.replaceAll(/[^A-Za-z0-9._-]/g, "_").slice(0, maxLength);
  const session = safe === "" || safe === "." || safe === ".." ? "unknown" : safe;
  return `feedback/${session}/${name}/`;
}

/** What was said. */
export const messagesFile = "messages.json";
/** The manifest: the object whose presence says that all others are there. */
export const manifestFile = "feedback.json";
/** The object that says that a package is not to be used any more. */
export const retractionFile = "retracted.json";
