// What providers say of a failure: for the caller and the page, never for the log.
import { refusedStatus } from "../errors.ts";
import { isJsonObject } from "../json.ts";

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

/**
 * Reads the refusal in an error that a provider's own client throws, such as those of OpenAI and Anthropic: it has
 * the status of the answer. `undefined`: it is an exception like any other.
 *
 * @param name `provider/model`.
 */
export function refusalIn(
  error: unknown,
  name: string,
): { readonly reason: string; readonly detail: string | undefined } | undefined {
  const status = refusedStatus(error);
  if (status === undefined) return undefined;
  const { error: body, data = body } = error as {
    readonly error?: unknown;
    readonly data?: unknown;
  };
  const otherwise = status >= 500 ? "failed" : "refused the request";
  const reason = `${name} ${status === 429 ? "is rate limited" : otherwise} (HTTP ${status})`;
  // Who refuses a key may quote it.
  const isOfKey = status === 401 || status === 403;
  return { reason, detail: isOfKey ? undefined : safeLine(wordsIn(data), name) };
}

/** `{ error: { message } }`, `{ error: "…" }` or `{ message }`. An `Error` holds words of our own side. */
export function wordsIn(said: unknown): string | undefined {
  if (!isJsonObject(said) || said instanceof Error) return undefined;
  const { error, message } = said;
  if (typeof error === "string") return error;
  if (isJsonObject(error)) return wordsIn(error);
  return typeof message === "string" ? message : undefined;
}
