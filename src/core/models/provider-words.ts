// What providers say of a failure: for the caller and the page, never for the log.
import { refusedStatus } from "../errors.ts";
import { isJsonObject } from "../json.ts";
import { ResponderError } from "./responder.ts";

const mostChars = 500;

/** Long, without a space, and with a digit or a star in it: a key, also one that is masked. */
const likeKey = /(?=[\w\-+=/]*[\d*])[\w\-+=/*]{16,}/g;

/**
 * Makes a provider's words one line, bounded, without control characters and without what looks like a key.
 *
 * @param name `provider/model`: a part of it is no key.
 */
export function safeLine(said: string | undefined, name: string): string | undefined {
  const line = said?.replace(/[\p{Cc}\p{Cf}\s]+/gu, " ").trim();
  if (line === undefined || line === "") return undefined;
  const safe = line.replace(likeKey, (run) => (name.includes(run) ? run : "[…]"));
  return safe.length > mostChars ? `${safe.slice(0, mostChars - 1)}…` : safe;
}

/** Letters only, and few: a name out of a list, never a key or a sentence. */
export function isCode(value: unknown): value is string {
  return typeof value === "string" && /^[A-Za-z_]{1,48}$/.test(value);
}

/** Reads the refusal in an error that a provider's own client throws, with the status of its answer. */
export function refusalIn(error: unknown, name: string): ResponderError | undefined {
  const status = refusedStatus(error);
  if (status === undefined) return undefined;
  const { error: body, data = body } = error as {
    readonly error?: unknown;
    readonly data?: unknown;
  };
  // Who refuses a key may quote it.
  const detail = status === 401 || status === 403 ? undefined : safeLine(wordsIn(data), name);
  const kind = status === 429 || status >= 500 ? "unavailable" : "refused";
  return new ResponderError(`${name} refused the request (HTTP ${status})`, { kind, detail });
}

/** `{ error: { message } }`, `{ error: "…" }` or `{ message }`. An `Error` holds words of our own side. */
export function wordsIn(said: unknown): string | undefined {
  if (!isJsonObject(said) || said instanceof Error) return undefined;
  const { error, message } = said;
  if (typeof error === "string") return error;
  if (isJsonObject(error)) return wordsIn(error);
  return typeof message === "string" ? message : undefined;
}
