// What servers say when a request is longer than the model's window, each over its provider's protocol.
import assert from "node:assert/strict";
import { test } from "node:test";
import { openAiServer, type Reply } from "../../../test/support/openai-server.ts";
import { parseModelName } from "./model-name.ts";
import { createResponder } from "./registry.ts";
import { ResponderError, type ResponderRequest } from "./responder.ts";

/** A refusal in OpenAI's form. */
const openAi = (message: string, more: object = {}): Reply => {
  const error = { message, type: "invalid_request_error", param: null, code: null, ...more };
  return { status: 400, body: JSON.stringify({ error }) };
};
const plain = (body: object, status = 400): Reply => ({ status, body: JSON.stringify(body) });
const exceeded = { code: "context_length_exceeded" };
const ofAnthropic = (message: string) =>
  plain({ type: "error", error: { type: "invalid_request_error", message } });
const llama =
  "the request exceeds the available context size. try increasing the context size or enable context shift";
const lmStudio =
  "Trying to keep the first 5120 tokens when context the overflows. However, the model is loaded with " +
  "context length of only 4096 tokens, which is not enough.";

const url: Readonly<Record<string, readonly [reply: Reply, window: number | undefined]>> = {
  vLLM: [
    openAi(
      "This model's maximum context length is 4096 tokens. However, you requested 5120 tokens in the " +
        "messages, Please reduce the length of the messages.",
    ),
    4096,
  ],
  "llama.cpp": [
    plain({
      error: {
        message:
          "request (5120 tokens) exceeds the available context size (4096 tokens), try increasing it",
        ...{ code: 400, type: "exceed_context_size_error", n_prompt_tokens: 5120, n_ctx: 4096 },
      },
    }),
    4096,
  ],
  "an older llama.cpp": [
    plain({ error: { code: 500, message: llama, type: "server_error" } }, 500),
    undefined,
  ],
  "LM Studio": [plain({ error: lmStudio }), 4096],
  "LM Studio in its stream": [
    { stream: `data: ${JSON.stringify({ error: { message: lmStudio } })}\n\n` },
    4096,
  ],
  "an older LM Studio": [
    plain({
      error:
        "The number of tokens to keep from the initial prompt is greater than the context length.",
    }),
    undefined,
  ],
  "OpenAI's chat": [
    openAi(
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
      exceeded,
    ),
    8192,
  ],
  xAI: [
    openAi("This model's maximum prompt length is 131072 but the request contains 140000 tokens."),
    131_072,
  ],
  Mistral: [
    plain({
      object: "error",
      message:
        "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
    }),
    32_768,
  ],
  Gemini: [
    openAi(
      "The input token count (1300000) exceeds the maximum number of tokens allowed (1048576).",
    ),
    1_048_576,
  ],
  TGI: [
    plain(
      {
        error:
          "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 100",
      },
      422,
    ),
    4_096,
  ],
};
const tooLong = "prompt is too long: 203517 tokens > 200000 maximum";
const noRoom =
  "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease it";
const ofInput = "Max input tokens: 8192, request input token count: 9000 ";
const rows: readonly [says: string, model: string, reply: Reply, window: number | undefined][] = [
  ...Object.entries(url).map(([says, [reply, window]]) => [says, "url", reply, window] as const),
  [
    "Ollama",
    "ollama/m",
    openAi("the input length exceeds the context length", { type: "api_error" }),
    undefined,
  ],
  [
    "OpenAI",
    "openai/m",
    openAi("Your input exceeds the context window of this model.", exceeded),
    undefined,
  ],
  ["Anthropic", "anthropic/m", ofAnthropic(tooLong), 200_000],
  ["Anthropic of an answer that does not fit", "anthropic/m", ofAnthropic(noRoom), 200_000],
  ["Bedrock", "bedrock/m", plain({ message: "Input is too long for requested model." }), undefined],
  [
    "Bedrock with numbers",
    "bedrock/m",
    plain({ message: `Too many input tokens. ${ofInput}` }),
    8192,
  ],
].map((row) => row as [string, string, Reply, number | undefined]);
const others: readonly [says: string, reply: Reply][] = [
  ["of a rate limit", { status: 429, code: "rate_limit_exceeded" }],
  ["of another parameter", openAi("max_tokens is too large: 5000.")],
  ["of a wrong key", { status: 401, code: "invalid_api_key" }],
  ["without words", plain({})],
];

async function refusal(model: string, reply: Reply) {
  await using server = await openAiServer(() => reply);
  const baseUrl = server.url;
  const keys = { openaiApiKey: "k", anthropicApiKey: "k", awsBearerToken: "k" };
  const urls = { openaiBaseUrl: baseUrl, anthropicBaseUrl: baseUrl, bedrockBaseUrl: baseUrl };
  const settings = {
    ...keys,
    ...urls,
    awsRegion: "eu-central-1",
    ollamaHost: new URL(baseUrl).origin,
  };
  const spec = parseModelName(model === "url" ? `${baseUrl}#m` : model);
  const responder = await createResponder(spec, settings, { maxRetries: 2 });
  const request: ResponderRequest = {
    instructions: "Be kind.",
    messages: [{ role: "user", content: "Hello" }],
  };
  try {
    for await (const _ of responder.respond(request, new AbortController().signal));
  } catch (error) {
    assert.ok(error instanceof ResponderError);
    return { error, window: responder.window, asked: server.requests.length };
  }
  return assert.fail("answered");
}

for (const [says, model, reply, stated] of rows) {
  test(`a request that ${says} finds too long is told as such, with the window ${stated}`, async () => {
    const { error, window, asked } = await refusal(model, reply);
    assert.deepEqual([error.kind, error.window, window, asked], ["too_long", stated, stated, 1]);
    assert.match(error.message, / refused the request.*: it is too long for this model$/);
  });
}

for (const [says, reply] of others) {
  test(`an error ${says} says nothing about the window`, async () => {
    const { error, window } = await refusal("url", reply);
    assert.deepEqual(
      [error.kind === "too_long", error.window, window],
      [false, undefined, undefined],
    );
  });
}
