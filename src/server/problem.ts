import { STATUS_CODES } from "node:http";
import { type ErrorCode, errorCodes, isThroughlineError } from "../core/errors.ts";
import { ModelFailed } from "./turn-answer.ts";

/** What only the server answers. Codes are API, like those of `errorCodes`. */
export const serverCodes = {
  THROUGHLINE_INTERNAL: { status: 500, says: "A defect of this server. Its log knows more." },
  THROUGHLINE_METHOD_NOT_ALLOWED: { status: 405, says: "This route has no such method." },
  THROUGHLINE_TIMED_OUT: { status: 408, says: "The request took too long to arrive." },
} as const satisfies Record<`THROUGHLINE_${string}`, { status: number; says: string }>;

export type ProblemCode = ErrorCode | keyof typeof serverCodes;

/** RFC 9457, with our code: what every error over HTTP looks like. */
export interface Problem {
  readonly type: "about:blank";
  readonly title: string;
  readonly status: number;
  /** For people. Never a path of this machine, a stack, or what somebody said. */
  readonly detail: string;
  /** What to branch on. */
  readonly code: ProblemCode;
  /** The turn that it is about: its message is kept if it was accepted. */
  readonly turn_id?: string | undefined;
  /** What the model's provider said: one line without what looks like a key. */
  readonly provider_detail?: string | undefined;
}

const codes = { ...errorCodes, ...serverCodes };

/** Codes whose messages are about the request. The others are told in the code's own words. */
const tellsMessage: readonly ProblemCode[] = [
  "THROUGHLINE_BUSY",
  "THROUGHLINE_CONFIGURATION",
  "THROUGHLINE_CONFLICT",
  "THROUGHLINE_FORBIDDEN",
  "THROUGHLINE_ID_CONFLICT",
  "THROUGHLINE_INVALID",
  "THROUGHLINE_MEDIA_TYPE",
  "THROUGHLINE_MODEL_FAILED",
  "THROUGHLINE_NOT_FOUND",
  "THROUGHLINE_TOO_LARGE",
  "THROUGHLINE_UNAUTHORIZED",
];

/** Something that reads like a file's place is left out, whoever wrote the message. */
const pathLike = /(^|[\s"'(=:])(\/[^\s/"']+){2}|[A-Za-z]:\\|file:\/\//;
/** All problems of a file that somebody wrote, or all of 200 names. */
const maxDetail = 8_000;
/** What a provider says may be a page of HTML. */
const maxModelDetail = 500;

/** The problem that an error is told as. One that is not ours is a defect: nothing of it is told. */
export function problemOf(error: unknown, turnId?: string): Problem {
  if (!isThroughlineError(error)) return problem("THROUGHLINE_INTERNAL", undefined, turnId);
  const isModels = error.code === "THROUGHLINE_MODEL_FAILED";
  const message = error.message.slice(0, isModels ? maxModelDetail : maxDetail);
  const isTold = tellsMessage.includes(error.code) && !pathLike.test(message);
  const told = problem(error.code, isTold ? message : undefined, turnId);
  return error instanceof ModelFailed ? { ...told, provider_detail: error.providerDetail } : told;
}

/** @param detail the code's own words when absent. */
export function problem(code: ProblemCode, detail?: string, turnId?: string): Problem {
  const { status, says } = codes[code];
  return {
    type: "about:blank",
    title: STATUS_CODES[status] ?? "Error",
    status,
    detail: detail ?? says,
    code,
    turn_id: turnId,
  };
}

/** Nothing was stored or all of it was: worth another try, in so many seconds. */
const retryAfter: Partial<Record<ProblemCode, string>> = {
  THROUGHLINE_BUSY: "5",
  THROUGHLINE_CLOSED: "5",
  THROUGHLINE_FENCED: "1",
  THROUGHLINE_LOCKED: "5",
  THROUGHLINE_OUTCOME_UNKNOWN: "1",
  THROUGHLINE_UNAVAILABLE: "1",
};

export function problemResponse(shown: Problem, more: Record<string, string> = {}): Response {
  const headers: Record<string, string> = { "content-type": "application/problem+json" };
  const wait = retryAfter[shown.code];
  if (wait !== undefined) headers["retry-after"] = wait;
  if (shown.status === 401) headers["www-authenticate"] = 'Bearer realm="throughline"';
  // What is left of a body that is too large is not read.
  if (shown.status === 413) headers["connection"] = "close";
  const { status } = shown;
  return new Response(JSON.stringify(shown), { status, headers: { ...headers, ...more } });
}
