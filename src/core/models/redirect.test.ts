import assert from "node:assert/strict";
import { test } from "node:test";
import { collectAnswer } from "../../../test/support/collect-answer.ts";
import { loopback } from "../../../test/support/loopback.ts";
import type { ModelSpec } from "./model-name.ts";
import { createResponder } from "./registry.ts";
import { ResponderError } from "./responder.ts";

async function listening(location?: string, status = 200) {
  let asked = 0;
  const server = await loopback((_, response) => {
    asked++;
    response.writeHead(status, location === undefined ? {} : { location }).end();
  });
  return { ...server, asked: () => asked };
}

// Each provider goes through one and the same fetch.
for (const [provider, status] of [
  ["openai", 307],
  ["openai-compatible", 301],
  ["openai-compatible", 303],
  ["openai-compatible", 308],
] as const) {
  test(`words for ${provider} do not follow a redirect with ${status}`, async () => {
    await using other = await listening();
    await using first = await listening(`${other.url}/v1/elsewhere`, status);
    const spec: ModelSpec =
      provider === "openai"
        ? { provider, model: "m" }
        : { provider, model: "m", baseUrl: `${first.url}/v1` };
    const settings = { openaiApiKey: "k", openaiBaseUrl: first.url };
    const responder = await createResponder(spec, settings, {});
    const { error } = await collectAnswer(responder, "The boat leaves at nine.");
    assert.ok(error instanceof ResponderError);
    assert.equal(error.kind, "refused");
    assert.match(error.message, new RegExp(`^${first.url} redirects to ${other.url}\\.`));
    assert.deepEqual([first.asked(), other.asked()], [1, 0]);
  });
}
