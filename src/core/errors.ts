/** The codes of all errors. They are API: renaming one is a major release. Messages are for people and may change. */
export const errorCodes = {
  THROUGHLINE_BUSY: {
    status: 503,
    says: "The queue of this chat is full, or too much is held at once. Nothing was stored.",
  },
  THROUGHLINE_CLOSED: { status: 503, says: "The storage was used after close()." },
  THROUGHLINE_CONFIGURATION: { status: 500, says: "A setting has a value that cannot be used." },
  THROUGHLINE_CONFLICT: { status: 409, says: "The log or document changed since it was read." },
  THROUGHLINE_CORRUPT: { status: 500, says: "Stored bytes are damaged beyond a torn tail." },
  THROUGHLINE_FENCED: {
    status: 503,
    says: "Another process took this over. Repeat it with the same ids.",
  },
  THROUGHLINE_FORBIDDEN: { status: 403, says: "This origin, host or token may not do that." },
  THROUGHLINE_ID_CONFLICT: { status: 409, says: "This id was used before, with other content." },
  THROUGHLINE_INVALID: { status: 400, says: "The input is not what this call accepts." },
  THROUGHLINE_LOCKED: { status: 503, says: "Another process is the writer of this home." },
  THROUGHLINE_MEDIA_TYPE: { status: 415, says: "This route does not take that content type." },
  THROUGHLINE_MODEL_FAILED: { status: 502, says: "The model did not answer. The message is kept." },
  THROUGHLINE_NEWER_FORMAT: { status: 500, says: "Written by a later version. Left untouched." },
  THROUGHLINE_NOT_FOUND: { status: 404, says: "There is no such chat, message or route." },
  THROUGHLINE_OUTCOME_UNKNOWN: { status: 503, says: "Stored or not: repeat it with the same ids." },
  THROUGHLINE_TOO_LARGE: { status: 413, says: "Larger or deeper than this call accepts." },
  THROUGHLINE_UNAUTHORIZED: { status: 401, says: "A valid token is needed." },
  THROUGHLINE_UNAVAILABLE: { status: 503, says: "Nothing was stored. Try again." },
} as const satisfies Record<`THROUGHLINE_${string}`, { status: number; says: string }>;

export type ErrorCode = keyof typeof errorCodes;

/** What every call of Throughline rejects with. Branch on `code`, through `isThroughlineError`. */
export class ThroughlineError extends Error {
  override readonly name = "ThroughlineError";
  readonly code: ErrorCode;

  constructor(message: string, options: { readonly code: ErrorCode; readonly cause?: unknown }) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = options.code;
  }
}

/**
 * Tells by the code, never by `instanceof`: two installed copies of the package still agree.
 *
 * @param codes any of these. @default all
 */
export function isThroughlineError(
  error: unknown,
  ...codes: readonly ErrorCode[]
): error is ThroughlineError {
  if (typeof error !== "object" || error === null || !("code" in error)) return false;
  const found = error.code;
  if (typeof found !== "string" || !Object.hasOwn(errorCodes, found)) return false;
  return codes[0] === undefined || codes.some((code) => code === found);
}

/** For `catch`: passes over an error with one of these codes, and throws any other again. */
export function unless(...codes: readonly ErrorCode[]): (error: unknown) => undefined {
  return (error) => {
    if (!isThroughlineError(error, ...codes)) throw error;
  };
}

/** Returns a function that makes errors of this code. */
export const failing = (code: ErrorCode) => (message: string, cause?: unknown) =>
  new ThroughlineError(message, { code, cause });

/** Makes the error that bad input gets: nothing was stored. */
export const invalid = failing("THROUGHLINE_INVALID");
/** Makes the error that the second of two writers gets. */
export const conflict = failing("THROUGHLINE_CONFLICT");
/** Makes the error that damaged bytes get. */
export const corrupt = failing("THROUGHLINE_CORRUPT");
/** Makes the error that an id gets which is there with other content. */
export const idConflict = failing("THROUGHLINE_ID_CONFLICT");
/** Makes the error of what is not there. */
export const absent = failing("THROUGHLINE_NOT_FOUND");
/** Makes the error of what is perhaps stored, perhaps not. */
export const outcomeUnknown = failing("THROUGHLINE_OUTCOME_UNKNOWN");
/** Makes the error of what cannot be done now: nothing was stored. */
export const unavailable = failing("THROUGHLINE_UNAVAILABLE");

/** Makes the error of what is used after its end. */
export function closed(message = "the storage is closed"): ThroughlineError {
  return new ThroughlineError(message, { code: "THROUGHLINE_CLOSED" });
}

/** What a log may say of any error: its code or its name. A message may hold what a person said. */
export function errorName(error: unknown): string {
  if (isThroughlineError(error)) return error.code;
  return error instanceof Error ? error.name : typeof error;
}

/** Reads the status with which a provider refused, where its client threw this; of anything else there is none. */
export function refusedStatus(error: unknown): number | undefined {
  const { status, statusCode = status } = (error ?? {}) as Readonly<Record<string, unknown>>;
  const isStatus = typeof statusCode === "number" && statusCode >= 400 && statusCode < 600;
  return isStatus ? statusCode : undefined;
}

/** A failure of the database or of the connection to it: an error shown says where to look. */
export class DatabaseFailure extends ThroughlineError {}

/** Whether only this log cannot be read, and not the whole store. */
export function isFaultOfLog(error: unknown): error is ThroughlineError {
  if (!isThroughlineError(error) || error instanceof DatabaseFailure) return false;
  const codes = ["THROUGHLINE_UNAVAILABLE", "THROUGHLINE_CORRUPT", "THROUGHLINE_NEWER_FORMAT"];
  return codes.includes(error.code);
}
