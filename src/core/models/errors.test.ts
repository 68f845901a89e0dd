import assert from "node:assert/strict";
import { test } from "node:test";
import { APICallError } from "ai";
import { collectAnswer } from "../../../test/support/collect-answer.ts";
import { openAiServer, type Reply } from "../../../test/support/openai-server.ts";
import { toResponderError } from "./errors.ts";
import { parseModelName } from "./model-name.ts";
import { createResponder } from "./registry.ts";
import { ResponderError } from "./responder.ts";

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

function call(fields: Partial<ConstructorParameters<typeof APICallError>[0]>): APICallError {
  const request = { message: canary, url: "https://api.example", requestBodyValues: {} };
  return new APICallError({ ...request, statusCode: 503, ...fields });
}

function broken(code: string): Error {
  return new TypeError(`terminated ${canary}`, { cause: { code, message: canary } });
}

function named(name: string): Error {
  const error = new Error(canary);
  error.name = name;
  return error;
}

const [lost, unknown] = [{ type: "overloaded_error" }, { type: "not_found_error" }];
const long = { code: "context_length_exceeded" };
const says: Record<string, readonly (readonly [error: unknown, says: string])[]> = {
  "refused: refused the request": [
    [refused(400), " (HTTP 400)"],
    [refused(401, { code: "invalid_api_key" }), " (HTTP 401, invalid_api_key): check its key"],
    [refused(403), " (HTTP 403): check its key"],
    [refused(404, unknown), " (HTTP 404, not_found_error): check the name of the model"],
    [refused(422), " (HTTP 422)"],
    [{ message: canary, type: "authentication_error" }, " (authentication_error)"],
    [{ message: canary, statusCode: 400, code: "invalid_prompt" }, " (HTTP 400, invalid_prompt)"],
    [named("AI_MissingToolResultsError"), " (AI_MissingToolResultsError)"],
    [named("AI_LoadAPIKeyError"), " (AI_LoadAPIKeyError)"],
  ],
  "too_long: refused the request": [
    [refused(400, long), " (HTTP 400, context_length_exceeded): it is too long for this model"],
  ],
  "unavailable: failed": [
    [refused(408), " (HTTP 408)"],
    [refused(409), " (HTTP 409)"],
    [refused(500), " (HTTP 500)"],
    [refused(529, lost), " (HTTP 529, overloaded_error)"],
  ],
  "unavailable: is": [
    [refused(429, { code: canary }), " rate limited (HTTP 429)"],
    [broken("ECONNREFUSED"), " not reachable: nothing accepts connections at its address"],
    [broken("ENOTFOUND"), " not reachable: its host name is not known"],
  ],
  "unavailable: broke off": [
    [broken("ECONNRESET"), ": the connection was lost"],
    [broken("UND_ERR_SOCKET"), ": the connection was lost"],
    [Object.assign(broken("EPIPE"), { code: "EPIPE" }), ": the connection was lost"],
    [broken(canary), ""],
    [{ message: canary, ...lost }, " (overloaded_error)"],
    [named("SyntaxError"), ""],
    [named(canary), ""],
    [canary, ""],
    [undefined, ""],
  ],
};
for (const [group, rows] of Object.entries(says)) {
  for (const [error, rest] of rows) {
    test(`an error is told as "${group}${rest}", and holds neither key nor conversation`, () => {
      const known = toResponderError(error, attempt);
      const [kind, begins] = group.split(": ");
      assert.equal(known.message, `openai/gpt-5 ${begins}${rest}`);
      assert.deepEqual([known.kind, known.usage, known.cause], [kind, attempt.usage, undefined]);
      const { detail = "", ...others } = known;
      assert.equal(JSON.stringify({ ...others, stack: known.stack }).includes("canary"), false);
      assert.equal(detail.includes("0123456789"), false, "the provider's words hold no key");
    });
  }
}

const ha = "ha ".repeat(400);
const dated = "no openai/gpt-5-2025-08-07x";
const details: readonly [string, unknown, string | undefined][] = [
  ["its message", refused(429, { message: "Slow\u0007 down.\nNow." }), "Slow down. Now."],
  ["an error that is a text", call({ data: { error: "model is loading" } }), "model is loading"],
  ["a body of JSON", call({ responseBody: '{"message":"too busy"}' }), "too busy"],
  ["a plain body", call({ responseBody: " upstream is down\n" }), "upstream is down"],
  ["a page of HTML", call({ responseBody: "<html>503</html>" }), undefined],
  ["an error in its stream", { message: "Overloaded", type: "overloaded_error" }, "Overloaded"],
  ["a key", call({ data: { error: "bad key sk-abcd****efgh0123." } }), "bad key […]."],
  ["its model", call({ data: { error: dated } }), dated],
  ["a long text", call({ data: { error: ha } }), `${ha.slice(0, 499)}…`],
  ["a refused key", refused(401, { message: "sk-short" }), undefined],
  ["words of our own side", broken("ECONNRESET"), undefined],
];
test("the provider's words are kept apart, without what looks like a key", () => {
  const name = "openai/gpt-5-2025-08-07x";
  for (const [what, error, detail] of details) {
    assert.equal(toResponderError(error, { ...attempt, name }).detail, detail, what);
  }
});

test("the code of a lost connection is for logs, not for people", () => {
  const { errno, message } = toResponderError(broken("UND_ERR_SOCKET"), attempt);
  assert.equal(errno, "UND_ERR_SOCKET");
  assert.doesNotMatch(message, /UND_ERR|[A-Z]{5}/);
});

test("a wait that is too long for a retry is named", () => {
  const error = call({ statusCode: 429, responseHeaders: { "retry-after": "300" } });
  const { message } = toResponderError(error, attempt);
  assert.equal(message, "openai/gpt-5 is rate limited (HTTP 429): it asks to wait 300 s");
});

const code = "previous_response_not_found";
const param = "previous_response_id";
const ids: readonly [object, number, boolean, ResponderError["kind"]][] = [
  [{ code, param }, 400, true, "session_refused"],
  [{ code: null, param }, 404, true, "session_refused"],
  [{ code }, 400, false, "refused"],
  [{ code: "invalid_api_key" }, 401, true, "refused"],
  [{}, 500, true, "unavailable"],
];
for (const [error, status, resumed, kind] of ids) {
  test(`HTTP ${status} with ${JSON.stringify(error)} ${resumed ? "while resuming" : "without an id"} is ${kind}`, () => {
    assert.equal(toResponderError(refused(status, error), { ...attempt, resumed }).kind, kind);
  });
}

// What servers say when a request is longer than the model's window.

const ofTgi =
  "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 100";
const ofLmStudio =
  "the model is loaded with context length of only 4096 tokens, which is not enough.";
const ofInput = "Too many input tokens. Max input tokens: 8192, request input token count: 9000";
const tooLong: readonly [words: string, window: number | undefined, status?: number][] = [
  ["This model's maximum context length is 4096 tokens. However, you requested 5120.", 4096],
  ["request (5120 tokens) exceeds the available context size (4096 tokens)", 4096],
  ["the request exceeds the available context size. try increasing it", undefined, 500],
  ["The number of tokens to keep is greater than the context length.", undefined],
  ["This model's maximum prompt length is 131072 but the request contains 140000.", 131_072],
  ["too large for model with 32768 maximum context length", 32_768],
  ["token count (1300000) exceeds the maximum number of tokens allowed (1048576).", 1_048_576],
  [ofTgi, 4096, 422],
  ["input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000", 200_000],
  [ofInput, 8192],
];
test("a request that a server finds too long is told as such, with the window that it states", () => {
  for (const [message, window, status = 400] of tooLong) {
    const error = toResponderError(call({ statusCode: status, data: { error: message } }), attempt);
    assert.deepEqual([error.kind, error.window], ["too_long", window], message);
  }
});

/** A refusal in OpenAI's form. */
const openAi = (message: string, more: object = {}): Reply => {
  const error = { message, type: "invalid_request_error", param: null, code: null, ...more };
  return { status: 400, body: JSON.stringify({ error }) };
};
const plain = (body: object): Reply => ({ status: 400, body: JSON.stringify(body) });
const anthropic = {
  type: "invalid_request_error",
  message: "prompt is too long: 203517 tokens > 200000 maximum",
};
const protocols: readonly [model: string, reply: Reply, window: number | undefined][] = [
  ["url", { stream: `data: ${JSON.stringify({ error: { message: ofLmStudio } })}\n\n` }, 4096],
  ["ollama/m", openAi("the input length exceeds the context length"), undefined],
  ["openai/m", openAi("Your input exceeds the context window of this model.", long), undefined],
  ["anthropic/m", plain({ type: "error", error: anthropic }), 200_000],
  ["bedrock/m", plain({ message: "Input is too long for requested model." }), undefined],
];
const others: readonly [says: string, reply: Reply][] = [
  ["of a rate limit", { status: 429, code: "rate_limit_exceeded" }],
  ["of another parameter", openAi("max_tokens is too large: 5000.")],
];

async function refusal(model: string, reply: Reply) {
  await using server = await openAiServer(() => reply);
  const { url } = server;
  const keys = { openaiApiKey: "k", anthropicApiKey: "k", awsBearerToken: "k" };
  const urls = { openaiBaseUrl: url, anthropicBaseUrl: url, bedrockBaseUrl: url };
  const ollamaHost = new URL(url).origin;
  const settings = { ...keys, ...urls, awsRegion: "eu-central-1", ollamaHost };
  const spec = parseModelName(model === "url" ? `${url}#m` : model);
  const responder = await createResponder(spec, settings, { maxRetries: 2 });
  const { error } = await collectAnswer(responder, "Hello");
  assert.ok(error instanceof ResponderError);
  return { error, window: responder.window, asked: server.requests.length };
}

for (const [model, reply, stated] of protocols) {
  test(`a request that ${model} finds too long is refused once, and its window is ${stated} from then on`, async () => {
    const { error, window, asked } = await refusal(model, reply);
    assert.deepEqual([error.kind, error.window, window, asked], ["too_long", stated, stated, 1]);
    assert.match(error.message, / refused the request.*: it is too long for this model$/);
  });
}

for (const [says, reply] of others) {
  test(`an error ${says} says nothing about the window`, async () => {
    const { error, window } = await refusal("url", reply);
    assert.notEqual(error.kind, "too_long");
    assert.deepEqual([error.window, window], [undefined, undefined]);
  });
}
