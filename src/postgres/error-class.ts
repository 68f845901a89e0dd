import { errorName } from "../core/errors.ts";

/**
 * What an error of the database asks for. `"repeat"`: the same again, at once. `"reconnect"`: the same
 * on a new connection. `"wait"`: the same a little later. `"primary"`: look again for the server that
 * takes writes. `"refuse"`: nothing was stored, and trying again at once does not help. `"surface"`:
 * a mistake, ours or the operator's.
 */
export type ErrorClass = "repeat" | "reconnect" | "wait" | "primary" | "refuse" | "surface";

/** By SQLSTATE; two characters stand for the whole class. The longer entry decides. */
const classes: Readonly<Record<string, ErrorClass>> = {
  "40001": "repeat", // serialization_failure
  "40P01": "repeat", // deadlock_detected
  "08": "reconnect", // connection exceptions
  "57P01": "reconnect", // admin_shutdown
  "57P02": "reconnect", // crash_shutdown
  "57P03": "wait", // cannot_connect_now: it starts, or recovers
  "57P05": "reconnect", // idle_session_timeout
  "25P03": "reconnect", // idle_in_transaction_session_timeout
  "26000": "reconnect", // a named statement is not on this server: a proxy gave us another one
  "42P05": "reconnect", // a named statement is there already: the same, the other way round
  "53300": "wait", // too_many_connections
  "53400": "wait", // configuration_limit_exceeded
  "55P03": "wait", // lock_not_available
  "25006": "primary", // read_only_sql_transaction
  "53": "refuse", // disk full, out of memory
  "57014": "refuse", // query_canceled: the statement took too long
  "58": "refuse", // the server's disk failed
};

/** Codes with which a server ends the connection: whether it still committed is not said. */
const ending = /^(?:08...|57P0[1-5]|25P03)$/;

/** The SQLSTATE of an error that a server sent; `undefined` for one of the socket or of this process. */
export function sqlState(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  // Sockets have codes too, some as long as these (`EPIPE`); what a server says has a severity.
  if (!("code" in error) || !("severity" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/**
 * Codes with which Node refuses a server's certificate. **Source:** "X509 certificate error codes" in its
 * documentation of `node:tls`.
 */
const ofCertificates =
  /^(?:CERT|CRL|UNABLE_TO|ERROR_IN|DEPTH_ZERO|SELF_SIGNED|PATH|ERR_TLS_CERT|INVALID|HOSTNAME)_/;

/** What `pg` says, without a code, of a server that answers the wish for TLS with no. */
const withoutTls = "The server does not support SSL connections";

/** Why no TLS that the settings accept came about; `undefined` for every other error. */
function tlsRefusal(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const code: unknown = "code" in error ? error.code : undefined;
  if (typeof code === "string") return ofCertificates.test(code) ? code : undefined;
  return error.message === withoutTls ? "NOT_SUPPORTED" : undefined;
}

/**
 * What may be told of an error, to look it up: PostgreSQL's code, a system's or ours, or its name. That
 * of TLS begins with `TLS`.
 */
export function errorCode(error: unknown): string {
  const refusal = tlsRefusal(error);
  if (refusal !== undefined) return `TLS ${refusal}`;
  const code: unknown = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : errorName(error);
}

/** What to do after this error. Whatever no server sent is a lost connection, unless TLS was refused. */
export function errorClass(error: unknown): ErrorClass {
  const code = sqlState(error);
  if (code === undefined) return tlsRefusal(error) === undefined ? "reconnect" : "surface";
  return classes[code] ?? classes[code.slice(0, 2)] ?? "surface";
}

/** Whether a server said with this error that the statement stored nothing. */
export function isAnswer(error: unknown): boolean {
  const code = sqlState(error);
  return code !== undefined && !ending.test(code);
}

/** Whether this error says that an index with unique entries holds such an entry already. */
export function isDuplicate(error: unknown): boolean {
  return sqlState(error) === "23505";
}
