import assert from "node:assert/strict";
import { test } from "node:test";
import { APICallError } from "ai";
import { requestedWaitMs, type Wait, withRetries } from "./retries.ts";

function failure(statusCode: number | undefined, responseHeaders: Record<string, string> = {}) {
  const request = { url: "https://api.example", requestBodyValues: {} };
  const isRetryable = statusCode === undefined || statusCode >= 429;
  return new APICallError({
    ...request,
    message: "no",
    responseHeaders,
    isRetryable,
    ...(statusCode === undefined ? {} : { statusCode }),
  });
}

/** Makes calls that fail with these one after the other and then answer. */
async function calling(errors: readonly unknown[], maxRetries = 2) {
  const waits: Wait[] = [];
  let calls = 0;
  const call = async () => {
    const error = errors[calls++];
    if (error !== undefined) throw error;
    return "answer";
  };
  const options = { maxRetries, signal: undefined, onWait: (wait: Wait) => waits.push(wait) };
  const result = await withRetries(call, options).catch((error: unknown) => error);
  return { result, calls, waits };
}

const soon = { "retry-after-ms": "1" };

const given: readonly [string, unknown, number][] = [
  ["a refusal", failure(400, soon), 2],
  ["a failure that is no call's", new TypeError("no"), 2],
  ["a wait of more than a minute", failure(429, { "retry-after": "61" }), 2],
  ["no retries", failure(429, soon), 0],
];
for (const [what, error, maxRetries] of given) {
  test(`one call and no wait: ${what}`, async () => {
    const { result, calls, waits } = await calling([error], maxRetries);
    assert.equal(result, error);
    assert.deepEqual([calls, waits], [1, []]);
  });
}

test("without a word of the provider it waits 2 s, and stopping ends the wait", async () => {
  const stop = new AbortController();
  const waits: number[] = [];
  const call = () => Promise.reject(failure(503));
  const onWait = ({ waitMs }: Wait) => {
    waits.push(waitMs);
    setImmediate(() => stop.abort("stopped"));
  };
  const calls = withRetries(call, { maxRetries: 2, signal: stop.signal, onWait });
  assert.equal(await calls.catch((reason: unknown) => reason), "stopped");
  assert.deepEqual(waits, [2_000]);
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
for (const [given, ms] of headers) {
  test(`${JSON.stringify(given)} asks to wait ${ms === undefined ? "for no known time" : `${ms} ms`}`, () => {
    assert.equal(requestedWaitMs(failure(429, given)), ms);
  });
}
