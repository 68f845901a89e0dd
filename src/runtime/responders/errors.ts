import { APICallError, RetryError } from "ai";
import { isJsonObject } from "../../json.ts";
import { ResponderError, type Usage } from "../responder.ts";

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
  /** Of the connection: `ECONNREFUSED`, `ECONNRESET`. */
  readonly errno: string | undefined;
  readonly name: string;
}

/**
 * Any failure of the AI SDK as a `ResponderError`.
 *
 * The original is left out on purpose, also as `cause`: it carries the request (what people said),
 * and providers quote the key in its message. The message here is made of names, numbers and codes.
 */
export function toResponderError(error: unknown, attempt: Attempt): ResponderError {
  const facts = factsOf(RetryError.isInstance(error) ? error.lastError : error);
  const kind = kindOf(facts, attempt.resumed);
  const message = `${attempt.name} ${explain(kind, facts)}`;
  return new ResponderError(message, { kind, usage: attempt.usage });
}

/** A failure that no error describes: a missed deadline, a connection that closed. */
export function unavailable(what: string, attempt: Attempt): ResponderError {
  return new ResponderError(`${attempt.name} ${what}`, {
    kind: "unavailable",
    usage: attempt.usage,
  });
}

function factsOf(error: unknown): Facts {
  const fields: unknown = error;
  if (!isJsonObject(fields)) {
    return { status: undefined, codes: [], param: undefined, errno: undefined, name: "Error" };
  }
  const body = APICallError.isInstance(error) ? errorBody(error.data) : fields;
  const status = fields["statusCode"];
  const param = body["param"];
  return {
    status: typeof status === "number" && status >= 400 ? status : undefined,
    codes: [body["code"], body["type"]].filter(isCode),
    param: typeof param === "string" ? param : undefined,
    errno: errnoOf(error),
    name: isCode(fields["name"]) ? fields["name"] : "Error",
  };
}

/** `{ error: { code, type, param } }`, which OpenAI, Anthropic and those that speak like them send. */
function errorBody(data: unknown): Readonly<Record<string, unknown>> {
  if (!isJsonObject(data)) return {};
  return isJsonObject(data["error"]) ? data["error"] : data;
}

/** Letters only, and few: a name out of a list, never a key or a sentence. */
function isCode(value: unknown): value is string {
  return typeof value === "string" && /^[A-Za-z_]{1,48}$/.test(value);
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
  const errno = facts.errno === undefined ? [] : [facts.errno];
  const known = new Set([...status, ...facts.codes.slice(0, 1), ...errno]);
  const named = known.size === 0 && facts.name !== "Error" ? [facts.name] : [...known];
  const why = named.length === 0 ? "" : ` (${named.join(", ")})`;
  if (kind === "session_refused") return `does not know the session that was to be resumed${why}`;
  if (kind === "refused") return `refused the request${why}${hint(facts)}`;
  if (facts.status === 429) return `is rate limited${why}`;
  if (facts.status !== undefined) return `failed${why}`;
  return facts.errno === "ECONNREFUSED" || facts.errno === "ENOTFOUND"
    ? `is not reachable${why}`
    : `broke off${why}`;
}

function hint(facts: Facts): string {
  if (facts.codes.includes("context_length_exceeded")) return ": the conversation is too long";
  if (facts.status === 401 || facts.status === 403) return ": check its key";
  return facts.status === 404 ? ": check the name of the model" : "";
}
