import { APICallError } from "ai";
import { isJsonObject } from "../json.ts";
import { isCode, safeLine, wordsIn } from "./provider-words.ts";
import { refusalOf } from "./refusals.ts";
import { ResponderError, type Usage } from "./responder.ts";

/** What is known about the attempt that failed. */
export interface Attempt {
  /** `provider/model`. */
  readonly name: string;
  /** Whether the request carried a provider's session id, which may be what was refused. */
  resumed: boolean;
  usage: Usage;
  /** Something of the answer itself, not of the thinking, has come. */
  begun?: boolean;
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
  const fields = isJsonObject(error) ? error : {};
  const body = APICallError.isInstance(error) ? errorBody(error.data) : fields;
  const given = fields["statusCode"];
  const status = typeof given === "number" && given >= 400 ? given : undefined;
  const errno = errnoOf(error);
  // The code of a connection error of Bun or Node stands in the same field as a provider's code.
  const codes = [body["code"], body["type"]].filter(isCode).filter((code) => code !== errno);
  const own = isCode(fields["name"]) ? fields["name"] : "Error";
  const { means, window } = refusalOf(error) ?? {};
  const isUnknownId = codes.includes(noSession) || body["param"] === "previous_response_id";
  const isRefused = status ? !isTransient(status) : [own, ...codes].some((it) => refusals.test(it));
  let kind: ResponderError["kind"] = isRefused ? "refused" : "unavailable";
  if (attempt.resumed && isUnknownId) kind = "session_refused";
  if (means === "pictures") kind = "refused";
  if (means === "too_long") kind = means;
  const known = [...(status ? [`HTTP ${status}`] : []), ...codes.slice(0, 1)];
  // The SDK's own name is all that says why nothing was sent.
  if (known.length === 0 && kind === "refused") known.push(own);
  const why = known.length === 0 ? "" : ` (${known.join(", ")})`;
  const says: Readonly<Record<ResponderError["kind"], string>> = {
    session_refused: `does not know the session that was to be resumed${why}`,
    too_long: `refused the request${why}: it is too long for this model`,
    refused: `refused the request${why}${hints[status ?? 0] ?? ""}`,
    unavailable: failedAs(status, errno, why) + requestedWait(error, status),
  };
  const detail = safeLine(
    APICallError.isInstance(error) ? wordsOfCall(error) : wordsIn(error),
    attempt.name,
  );
  return new ResponderError(`${attempt.name} ${says[kind]}`, {
    kind,
    window,
    refuses: means === "tools" || means === "thinking" ? means : undefined,
    usage: attempt.usage,
    detail,
    errno,
  });
}

const noSession = "previous_response_not_found";
const hints: Readonly<Record<number, string>> = {
  401: ": check its key",
  403: ": check its key",
  404: ": check the name of the model",
};

/** A failure that no error describes: a missed deadline, a connection that closed. */
export function unavailable(what: string, attempt: Attempt): ResponderError {
  return new ResponderError(`${attempt.name} ${what}`, {
    kind: "unavailable",
    usage: attempt.usage,
  });
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

/** Request timeout, conflict, too early, too many requests, and whatever is the server's fault. */
function isTransient(status: number): boolean {
  return status >= 500 || [408, 409, 425, 429].includes(status);
}

/** Errors without a status that asking again cannot heal. */
const refusals =
  /^(AI_(Invalid(Argument|Prompt)|Load(APIKey|Setting)|MessageConversion|MissingToolResults|NoSuchModel|UnsupportedFunctionality)Error|(authentication|billing|invalid_request|not_found|permission)_error)$/;

function failedAs(status: number | undefined, errno: string | undefined, why: string): string {
  if (status !== undefined) return `${status === 429 ? "is rate limited" : "failed"}${why}`;
  if (errno === undefined) return `broke off${why}`;
  return unreachable[errno] ?? "broke off: the connection was lost";
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

/** The longest wait that a provider may ask for, in milliseconds. */
const longestWaitMs = 60_000;
const firstWaitMs = 2_000;

/**
 * How long to wait, in milliseconds, before a call is made again that failed in a way that may pass: a rate limit,
 * a fault of the server, a connection that fails. As long as the provider asks for, else 2 s and then twice as
 * long each time.
 *
 * @param calls how many failed.
 * @returns `undefined`: it is not made again. Its provider may ask for more than a minute.
 */
export function waitMsBefore(error: unknown, calls: number): number | undefined {
  const { means = "" } = refusalOf(error) ?? {};
  const isFault = APICallError.isInstance(error) && error.isRetryable;
  if (!isFault || ["too_long", "pictures"].includes(means)) return undefined;
  const waitMs = requestedWaitMs(error) ?? firstWaitMs * 2 ** (calls - 1);
  return waitMs > longestWaitMs ? undefined : waitMs;
}

/**
 * How long a provider asks to wait, by `retry-after-ms` (OpenAI's) or `retry-after`. A date counts from
 * the answer's own `date`, so that the clock of this machine may be wrong.
 */
export function requestedWaitMs(error: unknown): number | undefined {
  const headers = APICallError.isInstance(error) ? (error.responseHeaders ?? {}) : {};
  const exact = numberOf(headers["retry-after-ms"]);
  const seconds = numberOf(headers["retry-after"]);
  if (exact !== undefined) return exact;
  if (seconds !== undefined) return seconds * 1_000;
  const ms = Date.parse(headers["retry-after"] ?? "") - Date.parse(headers["date"] ?? "");
  return ms >= 0 ? ms : undefined;
}

function numberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,9}(?:\.\d+)?$/.test(text) ? Number(text) : undefined;
}

/** Worth a word where it is too long to wait for. */
function requestedWait(error: unknown, status: number | undefined): string {
  const waitMs = status === undefined ? 0 : (requestedWaitMs(error) ?? 0);
  return waitMs <= longestWaitMs ? "" : `: it asks to wait ${Math.ceil(waitMs / 1_000)} s`;
}

/** What a provider says about a failure. `undefined`: nothing, or it refused the key, which it then quotes. */
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
