import { APICallError } from "ai";
import { isJsonObject } from "../json.ts";

const mostChars = 500;

/**
 * What a provider says about a failure: one line, bounded, without control characters and without what
 * looks like a key. `undefined`: it said nothing, or it refused the key, which it then quotes.
 *
 * @param name `provider/model`: a part of it is no key.
 */
export function providerWords(error: unknown, name: string): string | undefined {
  const said = APICallError.isInstance(error) ? wordsOfCall(error) : wordsIn(error);
  const line = said?.replace(/[\p{Cc}\p{Cf}\s]+/gu, " ").trim();
  if (line === undefined || line === "") return undefined;
  const safe = line.replace(likeKey, (run) => (name.includes(run) ? run : "[…]"));
  return safe.length > mostChars ? `${safe.slice(0, mostChars - 1)}…` : safe;
}

/** Long, without a space, and with a digit or a star in it: a key, also one that is masked. */
const likeKey = /(?=[\w\-+=/]*[\d*])[\w\-+=/*]{16,}/g;

function wordsOfCall({ statusCode, data, responseBody }: APICallError): string | undefined {
  if (statusCode === 401 || statusCode === 403) return undefined;
  const words = wordsIn(data);
  if (words !== undefined || responseBody === undefined) return words;
  try {
    return wordsIn(JSON.parse(responseBody));
  } catch {
    // Not JSON. A page of HTML says nothing to a person.
    return responseBody.includes("<") ? undefined : responseBody;
  }
}

/** `{ error: { message } }`, `{ error: "…" }` or `{ message }`. An `Error` holds words of our own side. */
function wordsIn(said: unknown): string | undefined {
  if (!isJsonObject(said) || said instanceof Error) return undefined;
  const { error, message } = said;
  if (typeof error === "string") return error;
  if (isJsonObject(error)) return wordsIn(error);
  return typeof message === "string" ? message : undefined;
}
