import { APICallError } from "ai";
import { isJsonObject } from "../json.ts";
import { isCode, safeLine, wordsIn } from "./provider-words.ts";
import { refusalOf } from "./refusals.ts";
import { ResponderError, type Usage } from "./responder.ts";
import { longestWaitMs, requestedWaitMs } from "./retries.ts";

/** What is known about the attempt that failed. */
export interface Attempt {
  /** `provider/model`. */
  readonly name: string;
  /** Whether the request carried a provider's session id, which may be what was refused. */
  readonly resumed: boolean;
  readonly usage: Usage;
}

/** What an error says, in words that are safe to show. */
interface Facts {
  readonly status: number | undefined;
  /** The provider's own words of a closed set: `invalid_api_key`, `overloaded_error`. */
  readonly codes: readonly string[];
  readonly param: string | undefined;
  /** Of the connection: `ECONNREFUSED`, `ECONNRESET`. Not for people. */
  readonly errno: string | undefined;
  readonly name: string;
  /** How long the provider asks to wait, in milliseconds. */
  readonly waitMs: number | undefined;
}

/**
 * Any failure of the AI SDK as a `ResponderError`.
 *
 * The original is left out on purpose, also as `cause`: it carries the request (what people said),
 * and providers quote the key in its message. The message here is made of names, numbers and the
 * provider's codes; the provider's words are in `detail`, without what looks like a key.
 */
export function toResponderError(error: unknown, attempt: Attempt): ResponderError {
  if (error instanceof ResponderError) return error;
  const facts = factsOf(error);
  const { means, window } = refusalOf(error) ?? {};
  const refused = means === "pictures" ? "refused" : kindOf(facts, attempt.resumed);
  const kind = means === "too_long" ? means : refused;
  const refuses = means === "tools" || means === "thinking" ? means : undefined;
  const detail = providerWords(error, attempt.name);
  const { errno } = facts;
  return new ResponderError(`${attempt.name} ${explain(kind, facts)}`, {
    kind,
    window,
    refuses,
    usage: attempt.usage,
    detail,
    errno,
  });
}

/** A failure that no error describes: a missed deadline, a connection that closed. */
export function unavailable(what: string, attempt: Attempt): ResponderError {
  return new ResponderError(`${attempt.name} ${what}`, {
    kind: "unavailable",
    usage: attempt.usage,
  });
}

function factsOf(error: unknown): Facts {
  const fields = isJsonObject(error) ? error : {};
  const body = APICallError.isInstance(error) ? errorBody(error.data) : fields;
  const status = fields["statusCode"];
  const param = body["param"];
  return {
    status: typeof status === "number" && status >= 400 ? status : undefined,
    codes: [body["code"], body["type"]].filter(isCode),
    param: typeof param === "string" ? param : undefined,
    errno: errnoOf(error),
    name: isCode(fields["name"]) ? fields["name"] : "Error",
    waitMs: requestedWaitMs(error),
  };
}

/** `{ error: { code, type, param } }`, which OpenAI, Anthropic and those that speak like them send. */
function errorBody(data: unknown): Readonly<Record<string, unknown>> {
  if (!isJsonObject(data)) return {};
  return isJsonObject(data["error"]) ? data["error"] : data;
}

/** The first code of a connection in the chain of causes, which is cut at five. */
function errnoOf(error: unknown): string | undefined {
  let at: unknown = error;
  for (let depth = 0; depth < 5 && isJsonObject(at); depth++) {
    const code = at["code"];
    if (typeof code === "string" && /^(E[A-Z_]{2,20}|UND_ERR_[A-Z_]{2,30})$/.test(code))
      return code;
    at = at["cause"];
  }
  return undefined;
}

function kindOf(facts: Facts, resumed: boolean): ResponderError["kind"] {
  const refusedId =
    facts.codes.includes("previous_response_not_found") || facts.param === "previous_response_id";
  if (resumed && refusedId) return "session_refused";
  if (facts.status !== undefined) return isTransient(facts.status) ? "unavailable" : "refused";
  return refusals.has(facts.name) || facts.codes.some((code) => refusals.has(code))
    ? "refused"
    : "unavailable";
}

/** Request timeout, conflict, too early, too many requests, and whatever is the server's fault. */
function isTransient(status: number): boolean {
  return status >= 500 || [408, 409, 425, 429].includes(status);
}

/** Errors without a status that asking again cannot heal. */
const refusals: ReadonlySet<string> = new Set([
  "AI_InvalidArgumentError",
  "AI_InvalidPromptError",
  "AI_LoadAPIKeyError",
  "AI_LoadSettingError",
  "AI_MessageConversionError",
  "AI_MissingToolResultsError",
  "AI_NoSuchModelError",
  "AI_UnsupportedFunctionalityError",
  "authentication_error",
  "billing_error",
  "invalid_request_error",
  "not_found_error",
  "permission_error",
]);

function explain(kind: ResponderError["kind"], facts: Facts): string {
  const status = facts.status === undefined ? [] : [`HTTP ${facts.status}`];
  // The code of a connection error of Bun or Node stands in the same field as a provider's code.
  const codes = facts.codes.filter((code) => code !== facts.errno).slice(0, 1);
  const known = [...status, ...codes];
  // The SDK's own name is all that says why nothing was sent.
  const named = known.length === 0 && kind === "refused" ? [facts.name] : known;
  const why = named.length === 0 ? "" : ` (${named.join(", ")})`;
  if (kind === "session_refused") return `does not know the session that was to be resumed${why}`;
  if (kind === "too_long") return `refused the request${why}: it is too long for this model`;
  if (kind === "refused") return `refused the request${why}${hint(facts)}`;
  if (facts.status === 429) return `is rate limited${why}${requestedWait(facts)}`;
  if (facts.status !== undefined) return `failed${why}${requestedWait(facts)}`;
  if (facts.errno === undefined) return `broke off${why}`;
  return unreachable[facts.errno] ?? "broke off: the connection was lost";
}

/** What the codes of connections mean that never came about. */
const unreachable: Readonly<Record<string, string>> = {
  ECONNREFUSED: "is not reachable: nothing accepts connections at its address",
  ENOTFOUND: "is not reachable: its host name is not known",
  EAI_AGAIN: "is not reachable: its host name could not be looked up",
  EHOSTUNREACH: "is not reachable: there is no route to its address",
  ENETUNREACH: "is not reachable: there is no network",
  ETIMEDOUT: "is not reachable: the connection timed out",
  UND_ERR_CONNECT_TIMEOUT: "is not reachable: the connection timed out",
};

/** Worth a word where it is too long to wait for. */
function requestedWait({ waitMs }: Facts): string {
  if (waitMs === undefined || waitMs <= longestWaitMs) return "";
  return `: it asks to wait ${Math.ceil(waitMs / 1_000)} s`;
}

function hint(facts: Facts): string {
  if (facts.status === 401 || facts.status === 403) return ": check its key";
  return facts.status === 404 ? ": check the name of the model" : "";
}

/** What a provider says about a failure. `undefined`: it said nothing, or it refused the key, which it then quotes. */
function providerWords(error: unknown, name: string): string | undefined {
  return safeLine(APICallError.isInstance(error) ? wordsOfCall(error) : wordsIn(error), name);
}

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
