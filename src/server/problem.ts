import { STATUS_CODES } from "node:http";
import type { z } from "zod";
import { type ErrorCode, errorCodes, isThroughlineError } from "../core/errors.ts";
import type { NewId } from "../core/ids.ts";
import type { Logger } from "../core/logger.ts";
import type { problem as problemSchema } from "./answer-schemas.ts";
import { securityHeaders } from "./guard.ts";
import { ModelFailed } from "./wire.ts";

/** What only the server answers. Codes are API, like those of `errorCodes`. */
export const serverCodes = {
  THROUGHLINE_INTERNAL: { status: 500, says: "A defect of this server. Its log knows more." },
  THROUGHLINE_METHOD_NOT_ALLOWED: { status: 405, says: "This route has no such method." },
  THROUGHLINE_TIMED_OUT: { status: 408, says: "The request took too long to arrive." },
} as const satisfies Record<`THROUGHLINE_${string}`, { status: number; says: string }>;

type ProblemCode = ErrorCode | keyof typeof serverCodes;

/** RFC 9457, with our code: what every error over HTTP looks like. */
export type Problem = Readonly<z.infer<typeof problemSchema>> & { readonly code: ProblemCode };

const codes = { ...errorCodes, ...serverCodes };

/** Codes whose messages are about the request. The others are shown in the code's own words. */
const showsMessage: readonly ProblemCode[] = [
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

/** Something that reads like a file's place is left out, whatever message it is in. */
const pathLike = /(^|[\s"'(=:])(\/[^\s/"']+){2}|[A-Za-z]:\\|file:\/\//;
/** All problems of a file that somebody wrote, or all of 200 names. */
const maxDetail = 8_000;
/** What a provider says may be a page of HTML. */
const maxModelDetail = 500;

/** The problem that a client gets for an error. One that is not ours is a defect: nothing of it is shown. */
export function problemOf(error: unknown, turnId?: string): Problem {
  if (!isThroughlineError(error)) return problem("THROUGHLINE_INTERNAL", undefined, turnId);
  const isModels = error.code === "THROUGHLINE_MODEL_FAILED";
  const message = error.message.slice(0, isModels ? maxModelDetail : maxDetail);
  const isShown = showsMessage.includes(error.code) && !pathLike.test(message);
  const shown = problem(error.code, isShown ? message : undefined, turnId);
  return error instanceof ModelFailed ? { ...shown, provider_detail: error.providerDetail } : shown;
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
  // What is left of a body that is too large, or one too many, is not read.
  if (shown.status === 413 || shown.code === "THROUGHLINE_BUSY") headers["connection"] = "close";
  const { status } = shown;
  return new Response(JSON.stringify(shown), { status, headers: { ...headers, ...more } });
}

/** A problem as bytes, where no request reached the app. The connection closes after it. */
export function rawProblem(shown: Problem, more: Readonly<Record<string, string>> = {}): string {
  const body = JSON.stringify(shown);
  const headers = {
    ...securityHeaders,
    connection: "close",
    "content-type": "application/problem+json",
    "content-length": Buffer.byteLength(body),
    ...more,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${shown.status} ${shown.title}`, ...lines, "", body].join("\r\n");
}

/** The errors that requests were refused with: a caller in this process may know more than a problem says. */
export const refusals = new WeakMap<Request, unknown>();

/** What the operator should know about: not what a client did wrong. */
const oursToFix: readonly string[] = [
  "THROUGHLINE_CORRUPT",
  "THROUGHLINE_NEWER_FORMAT",
  "THROUGHLINE_OUTCOME_UNKNOWN",
  "THROUGHLINE_UNAVAILABLE",
];

/**
 * Makes the problem that the client gets of an error, and logs what is not the client's doing. A defect has
 * the same id in both places; the client gets nothing else of it.
 */
export function reportError(
  ports: { readonly logger: Logger; readonly newId: NewId },
  error: unknown,
  about: {
    readonly route: string;
    readonly turnId?: string | undefined;
    readonly request?: Request | undefined;
  },
): Problem {
  const { route, turnId, request } = about;
  if (request !== undefined) refusals.set(request, error);
  if (!isThroughlineError(error)) {
    const id = ports.newId();
    ports.logger.error({ route, id, ...traceOf(error) }, "a defect");
    const detail = `A defect of this server. Its log knows more, under ${id}.`;
    return problem("THROUGHLINE_INTERNAL", detail, turnId);
  }
  if (oursToFix.includes(error.code)) {
    ports.logger.error({ route, code: error.code, error: error.message }, "a request failed");
  }
  return problemOf(error, turnId);
}

/** Where it happened. Not the message of a stranger's error: it may quote what was said. */
function traceOf(error: unknown): object {
  if (!(error instanceof Error)) return { error: typeof error };
  const frames = (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
  return { error: error.name, at: frames.slice(0, 8).map((frame) => frame.trim()) };
}
