import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, beforeEach, test } from "node:test";
import { LLMock } from "@copilotkit/aimock";
import { pdf, png } from "../../../test/support/sample-files.ts";
import type { ModelFile } from "../chat/message.ts";
import { parseModelName } from "./model-name.ts";
import { createResponder } from "./registry.ts";
import type { ModelSettings } from "./settings.ts";

// aimock speaks each provider's own protocol on one port of loopback.
const mock = new LLMock({ port: 0, logLevel: "silent" });
before(() => mock.start());
after(() => mock.stop());
beforeEach(() => {
  mock.clearFixtures();
  mock.onMessage(/./, { content: "Seen." });
});

function settings(): ModelSettings {
  return {
    openaiApiKey: "k",
    openaiBaseUrl: `${mock.url}/v1`,
    anthropicApiKey: "k",
    anthropicBaseUrl: mock.url,
    ollamaHost: mock.url,
    awsRegion: "eu-central-1",
    awsBearerToken: "k",
    bedrockBaseUrl: mock.url,
  };
}

function sent({ name, type = "", bytes }: typeof png): ModelFile {
  return { name, type, size: bytes.length, sha256: "0".repeat(64), bytes: new Uint8Array(bytes) };
}
const base64 = (file: typeof png) => Buffer.from(file.bytes).toString("base64");
const dataUri = (file: typeof png) => `data:${file.type};base64,${base64(file)}`;

/** What stands in the request of each protocol for a picture, and for a PDF where it takes one. */
const protocols: readonly (readonly [name: string, picture: object, pdf?: object])[] = [
  [
    "openai/gpt-5",
    { type: "input_image", image_url: dataUri(png) },
    { type: "input_file", filename: "plan.pdf", file_data: dataUri(pdf) },
  ],
  [
    "anthropic/claude-sonnet-4-5",
    { type: "image", source: { type: "base64", media_type: "image/png", data: base64(png) } },
    {
      type: "document",
      source: { type: "base64", media_type: "application/pdf", data: base64(pdf) },
      title: "plan.pdf",
    },
  ],
  [
    "bedrock/anthropic.claude-3-5-sonnet-20240620-v1:0",
    { image: { format: "png", source: { bytes: base64(png) } } },
    { document: { format: "pdf", name: "plan", source: { bytes: base64(pdf) } } },
  ],
  ["ollama/llava", { type: "image_url", image_url: { url: dataUri(png) } }],
];
for (const [name, picture, document] of protocols) {
  const kinds = document === undefined ? "pictures" : "pictures and PDF files";
  test(`${name} is sent ${kinds} as bytes, beside the text that names them`, async () => {
    const bodies: string[] = [];
    const spec = parseModelName(name);
    const responder = await createResponder(spec, settings(), {
      fetch: (input, init) => {
        bodies.push(String(init?.body));
        return fetch(input, init);
      },
    });
    const files = document === undefined ? [sent(png)] : [sent(png), sent(pdf)];
    const content = "look\n\n[image: cat.png]";
    const request = { instructions: "", messages: [{ role: "user", content, files }] } as const;
    let said = "";
    for await (const event of responder.respond(request, new AbortController().signal)) {
      if (event.type === "text") said += event.text;
    }
    assert.equal(said, "Seen.");
    const parts = partsOf(JSON.parse(bodies[0] ?? ""));
    assert.deepEqual(parts.slice(1), document === undefined ? [picture] : [picture, document]);
    assert.match(JSON.stringify(parts[0]), /look\\n\\n\[image: cat\.png\]/);
  });
}

/** The content of the newest message. */
function partsOf(body: { readonly input?: unknown; readonly messages?: unknown }): unknown[] {
  const messages = (body.input ?? body.messages) as { readonly content: unknown[] }[];
  return messages.at(-1)?.content ?? [];
}

const { signal } = new AbortController();
const takers: readonly (readonly [name: string, takes: readonly string[]])[] = [
  ["openai/gpt-5", ["image/png", "application/pdf"]],
  ["anthropic/claude-sonnet-4-5", ["image/png", "application/pdf"]],
  ["bedrock/amazon.nova-pro", ["image/png", "application/pdf"]],
  ["http://127.0.0.1:8080/v1#qwen3", ["image/png"]],
  ["offline", []],
];
for (const [name, takes] of takers) {
  test(`${name} takes ${takes.join(" and ") || "no files"}`, async () => {
    const { takes: asks = () => false } = await createResponder(parseModelName(name), settings());
    const types = ["image/png", "application/pdf", "image/svg+xml", "audio/wav"];
    assert.deepEqual(
      types.filter((type) => asks(type, signal) === true),
      takes,
    );
  });
}

test("a server that answers 500 to a picture refuses it, and is not asked again with it", async () => {
  let calls = 0;
  const message = "image input is not supported - hint: you may need to provide the mmproj";
  const error = { code: 500, message, type: "server_error" };
  const responder = await createResponder(
    parseModelName("http://127.0.0.1:8080/v1#qwen3"),
    {},
    {
      fetch: async () => {
        calls++;
        return Response.json({ error }, { status: 500, headers: { "retry-after-ms": "1" } });
      },
    },
  );
  const messages = [{ role: "user", content: "look", files: [sent(png)] }] as const;
  const answer = Array.fromAsync(responder.respond({ instructions: "", messages }, signal));
  await assert.rejects(answer, { kind: "refused" });
  assert.equal(calls, 1);
});

test("Ollama says which of its models see pictures, and is asked until it says so", async (t) => {
  const asked: string[] = [];
  let capabilities: readonly string[] | undefined;
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      asked.push(`${incoming.url} ${Buffer.concat(chunks)}`);
      response.end(JSON.stringify({ capabilities }));
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const spec = parseModelName("ollama/llava");
  const ofLlava = async () => {
    const { takes } = await createResponder(spec, { ollamaHost: `127.0.0.1:${port}` });
    return takes ?? assert.fail();
  };
  const takes = await ofLlava();
  assert.equal(await takes("application/pdf", signal), false);
  assert.deepEqual(asked, [], "it is not asked about what it never takes");
  assert.equal(await takes("image/png", signal), false, "it does not say");
  capabilities = ["completion", "vision"];
  assert.equal(await takes("image/png", signal), true);
  assert.equal(await takes("image/jpeg", signal), true);
  assert.deepEqual(asked, Array(2).fill('/api/show {"model":"llava"}'));
  capabilities = ["completion"];
  const blind = await ofLlava();
  assert.equal(await blind("image/png", signal), false);
  await new Promise((done) => server.close(done));
  const gone = await ofLlava();
  assert.equal(await gone("image/png", signal), false);
});
