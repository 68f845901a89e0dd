import assert from "node:assert/strict";
import { test } from "node:test";
import { APICallError } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { aiSdkResponder } from "./ai-sdk-responder.ts";
import { requestedWaitMs, waitMsBefore } from "./errors.ts";
import type { Retry } from "./responder.ts";

function failure(statusCode: number, responseHeaders: Record<string, string> = {}) {
  const request = { url: "https://api.example", requestBodyValues: {} };
  const isRetryable = statusCode >= 429;
  return new APICallError({ ...request, message: "no", responseHeaders, isRetryable, statusCode });
}

const soon = { "retry-after-ms": "1" };

const rows: readonly [string, unknown, number, number | undefined][] = [
  ["a refusal", failure(400, soon), 1, undefined],
  ["a refused key", failure(401, soon), 1, undefined],
  ["a failure that is no call's", new TypeError("no"), 1, undefined],
  ["a wait of more than a minute", failure(429, { "retry-after": "61" }), 1, undefined],
  ["a wait that the provider asks for", failure(429, soon), 3, 1],
  ["no word of the provider", failure(503), 1, 2_000],
  ["no word of the provider again", failure(503), 2, 4_000],
];
test("a call is made again after the wait that its provider asks for, or a growing one", () => {
  for (const [what, error, calls, waitMs] of rows) {
    assert.equal(waitMsBefore(error, calls), waitMs, what);
  }
});

test("stopping ends the wait", async () => {
  const stop = new AbortController();
  const waits: Retry[] = [];
  const model = new MockLanguageModelV4({ doStream: () => Promise.reject(failure(503)) });
  const onRetry = (retry: Retry) => {
    waits.push(retry);
    setImmediate(() => stop.abort("stopped"));
  };
  const request = { instructions: "", messages: [], onRetry };
  const answer = aiSdkResponder({ provider: "p", model }).respond(request, stop.signal);
  await assert.rejects(Array.fromAsync(answer), (reason) => reason === "stopped");
  const reason = "p/mock-model-id failed (HTTP 503)";
  assert.deepEqual(waits, [{ attempt: 2, waitMs: 2_000, reason, detail: undefined }]);
});

const date = "Thu, 01 Jan 2026 00:00:00 GMT";
const headers: readonly [Record<string, string>, number | undefined][] = [
  [{ "retry-after": "20" }, 20_000],
  [{ "retry-after": "0.5", "retry-after-ms": "250" }, 250],
  [{ "retry-after": "Thu, 01 Jan 2026 00:00:30 GMT", date }, 30_000],
  [{ "retry-after": "Wed, 31 Dec 2025 00:00:00 GMT", date }, undefined],
  [{ "retry-after": "Thu, 01 Jan 2026 00:00:30 GMT" }, undefined],
  [{ "retry-after": "soon" }, undefined],
  [{ "retry-after": "-5" }, undefined],
  [{}, undefined],
];
test("a provider asks to wait by two headers, in seconds, milliseconds or a date by its own clock", () => {
  for (const [given, ms] of headers) {
    assert.equal(requestedWaitMs(failure(429, given)), ms, JSON.stringify(given));
  }
});
