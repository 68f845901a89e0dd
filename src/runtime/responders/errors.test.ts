import assert from "node:assert/strict";
import { test } from "node:test";
import { APICallError, RetryError } from "ai";
import type { ResponderError } from "../responder.ts";
import { toResponderError, unavailable } from "./errors.ts";

const attempt = {
  name: "openai/gpt-5",
  resumed: false,
  usage: { inputTokens: 7, outputTokens: undefined, costUsd: 0 },
};
const canary = "canary: what the person said, and sk-secret-0123456789";

function refused(statusCode: number, error: object = {}, cause?: unknown): APICallError {
  return new APICallError({
    message: `Incorrect API key provided: ${canary}`,
    url: `https://api.example/${canary}`,
    requestBodyValues: { input: canary },
    responseBody: canary,
    statusCode,
    data: { error: { message: canary, ...error } },
    cause,
  });
}

function broken(code: string): Error {
  return new TypeError(`terminated ${canary}`, { cause: { code, message: canary } });
}

function named(name: string): Error {
  const error = new Error(canary);
  error.name = name;
  return error;
}

const rows: readonly [unknown, ResponderError["kind"], string][] = [
  [refused(400), "refused", "refused the request (HTTP 400)"],
  [
    refused(401, { code: "invalid_api_key" }),
    "refused",
    "refused the request (HTTP 401, invalid_api_key): check its key",
  ],
  [refused(403), "refused", "refused the request (HTTP 403): check its key"],
  [
    refused(404, { type: "not_found_error" }),
    "refused",
    "refused the request (HTTP 404, not_found_error): check the name of the model",
  ],
  [
    refused(400, { code: "context_length_exceeded" }),
    "refused",
    "refused the request (HTTP 400, context_length_exceeded): the conversation is too long",
  ],
  [refused(422), "refused", "refused the request (HTTP 422)"],
  [refused(408), "unavailable", "failed (HTTP 408)"],
  [refused(409), "unavailable", "failed (HTTP 409)"],
  [refused(429, { code: canary }), "unavailable", "is rate limited (HTTP 429)"],
  [refused(500), "unavailable", "failed (HTTP 500)"],
  [
    refused(529, { type: "overloaded_error" }),
    "unavailable",
    "failed (HTTP 529, overloaded_error)",
  ],
  [
    new RetryError({
      message: canary,
      reason: "maxRetriesExceeded",
      errors: [refused(401), refused(503)],
    }),
    "unavailable",
    "failed (HTTP 503)",
  ],
  [broken("ECONNRESET"), "unavailable", "broke off (ECONNRESET)"],
  [broken("UND_ERR_SOCKET"), "unavailable", "broke off (UND_ERR_SOCKET)"],
  [broken("ECONNREFUSED"), "unavailable", "is not reachable (ECONNREFUSED)"],
  [broken("ENOTFOUND"), "unavailable", "is not reachable (ENOTFOUND)"],
  [broken(canary), "unavailable", "broke off (TypeError)"],
  [{ message: canary, type: "overloaded_error" }, "unavailable", "broke off (overloaded_error)"],
  [
    { message: canary, type: "authentication_error" },
    "refused",
    "refused the request (authentication_error)",
  ],
  [
    { message: canary, statusCode: 400, code: "invalid_prompt" },
    "refused",
    "refused the request (HTTP 400, invalid_prompt)",
  ],
  [
    named("AI_MissingToolResultsError"),
    "refused",
    "refused the request (AI_MissingToolResultsError)",
  ],
  [named("AI_LoadAPIKeyError"), "refused", "refused the request (AI_LoadAPIKeyError)"],
  [named("SyntaxError"), "unavailable", "broke off (SyntaxError)"],
  [named(canary), "unavailable", "broke off"],
  [canary, "unavailable", "broke off"],
  [undefined, "unavailable", "broke off"],
];
for (const [error, kind, says] of rows) {
  test(`"${says}" is ${kind}, and holds neither key nor conversation`, () => {
    const known = toResponderError(error, attempt);
    assert.equal(known.message, `openai/gpt-5 ${says}`);
    assert.equal(known.kind, kind);
    assert.equal(known.usage, attempt.usage);
    assert.equal(known.cause, undefined);
    assert.equal(JSON.stringify({ ...known, stack: known.stack }).includes("canary"), false);
  });
}

const ids: readonly [object, number, boolean, ResponderError["kind"]][] = [
  [
    { code: "previous_response_not_found", param: "previous_response_id" },
    400,
    true,
    "session_refused",
  ],
  [{ code: null, param: "previous_response_id" }, 404, true, "session_refused"],
  [{ code: "previous_response_not_found" }, 400, false, "refused"],
  [{ code: "invalid_api_key" }, 401, true, "refused"],
  [{}, 500, true, "unavailable"],
];
for (const [error, status, resumed, kind] of ids) {
  test(`HTTP ${status} with ${JSON.stringify(error)} ${resumed ? "while resuming" : "without an id"} is ${kind}`, () => {
    assert.equal(toResponderError(refused(status, error), { ...attempt, resumed }).kind, kind);
  });
}

test("a missed deadline is unavailable and says which", () => {
  const error = unavailable("fell silent for 60 s", attempt);
  assert.equal(error.kind, "unavailable");
  assert.equal(error.message, "openai/gpt-5 fell silent for 60 s");
});
