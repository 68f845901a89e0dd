// What servers say when a request is longer than the model's window, each over its provider's protocol.
import assert from "node:assert/strict";
import { test } from "node:test";
import { openAiServer, type Reply } from "../../../test/support/openai-server.ts";
import { parseModelName } from "./model-name.ts";
import { createResponder } from "./models.ts";
import { ResponderError, type ResponderRequest } from "./responder.ts";

const openAi = (message: string, more: object = {}): Reply => {
  const error = { message, type: "invalid_request_error", param: null, code: null, ...more };
  return { status: 400, body: JSON.stringify({ error }) };
};
const plain = (status: number, body: object): Reply => ({ status, body: JSON.stringify(body) });
const exceeded = { code: "context_length_exceeded" };
const llama = "exceeds the available context size (4096 tokens), try increasing it";
const lmStudio =
  "Trying to keep the first 5120 tokens when context the overflows. However, the model is loaded with " +
  "context length of only 4096 tokens, which is not enough.";

const rows: readonly [says: string, model: string, reply: Reply, window: number | undefined][] = [
  [
    "vLLM",
    "url",
    openAi(
      "This model's maximum context length is 4096 tokens. However, you requested 5120 tokens in the " +
        "messages, Please reduce the length of the messages.",
    ),
    4096,
  ],
  [
    "llama.cpp",
    "url",
    plain(400, {
      error: {
        code: 400,
        message: `request (5120 tokens) ${llama}`,
        type: "exceed_context_size_error",
        n_prompt_tokens: 5120,
        n_ctx: 4096,
      },
    }),
    4096,
  ],
  [
    "an older llama.cpp",
    "url",
    plain(500, {
      error: {
        code: 500,
        message:
          "the request exceeds the available context size. try increasing the context size or enable context shift",
        type: "server_error",
      },
    }),
    undefined,
  ],
  ["LM Studio", "url", plain(400, { error: lmStudio }), 4096],
  [
    "LM Studio in its stream",
    "url",
    { stream: `data: ${JSON.stringify({ error: { message: lmStudio } })}\n\n` },
    4096,
  ],
  [
    "an older LM Studio",
    "url",
    plain(400, {
      error:
        "The number of tokens to keep from the initial prompt is greater than the context length.",
    }),
    undefined,
  ],
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
  [
    "OpenAI's chat",
    "url",
    openAi(
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
      exceeded,
    ),
    8192,
  ],
  [
    "xAI",
    "url",
    openAi("This model's maximum prompt length is 131072 but the request contains 140000 tokens."),
    131_072,
  ],
  [
    "Mistral",
    "url",
    plain(400, {
      object: "error",
      message:
        "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
    }),
    32_768,
  ],
  [
    "Gemini",
    "url",
    openAi(
      "The input token count (1300000) exceeds the maximum number of tokens allowed (1048576).",
    ),
    1_048_576,
  ],
  [
    "TGI",
    "url",
    plain(422, {
      error:
        "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 100",
    }),
    4_096,
  ],
  [
    "Anthropic",
    "anthropic/m",
    plain(400, {
      type: "error",
      error: {
        type: "invalid_request_error",
        message: "prompt is too long: 203517 tokens > 200000 maximum",
      },
    }),
    200_000,
  ],
  [
    "Anthropic of an answer that does not fit",
    "anthropic/m",
    plain(400, {
      type: "error",
      error: {
        type: "invalid_request_error",
        message:
          "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease it",
      },
    }),
    200_000,
  ],
  [
    "Bedrock",
    "bedrock/m",
    plain(400, { message: "Input is too long for requested model." }),
    undefined,
  ],
  [
    "Bedrock with numbers",
    "bedrock/m",
    plain(400, {
      message: "Too many input tokens. Max input tokens: 8192, request input token count: 9000 ",
    }),
    8192,
  ],
];
const others: readonly [says: string, reply: Reply][] = [
  ["of a rate limit", { status: 429, code: "rate_limit_exceeded" }],
  ["of another parameter", openAi("max_tokens is too large: 5000.")],
  ["of a wrong key", { status: 401, code: "invalid_api_key" }],
  ["without words", plain(400, {})],
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
