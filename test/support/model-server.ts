// A model server that speaks Ollama's, OpenAI's and Anthropic's protocol on one port of loopback: its
// lists of models are the test's, and its answers are aimock's, which name the model that was asked.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { LLMock } from "@copilotkit/aimock";
import type { ModelSettings } from "../../src/core/models/settings.ts";
import { freePort } from "./loopback.ts";

/** What its lists hold now. A test changes it as it goes. */
export interface Offered {
  ollama: readonly { readonly name: string; readonly [field: string]: unknown }[];
  /** By OpenAI's protocol, with when each was made. */
  openai: readonly { readonly id: string; readonly created: number }[];
  anthropic: readonly { readonly id: string }[];
  /** Answers a request for a list in place of the list. */
  instead?: (path: string, response: ServerResponse) => boolean;
}

export interface SeenRequest {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
}

/** Models whose names hold one of these answer "<name> hears you.". */
const voices = ["qwen3", "llama3", "gpt-5", "claude", "local"] as const;

export async function modelServer() {
  const mock = new LLMock({ port: 0, logLevel: "silent" });
  await mock.start();
  for (const name of voices) {
    mock.on({ model: new RegExp(name) }, { content: `${name} hears you.` });
  }
  const offered: Offered = { ollama: [], openai: [], anthropic: [] };
  const seen: SeenRequest[] = [];
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url ?? "";
    seen.push({ path, headers: request.headers });
    if (request.method === "GET" && offered.instead?.(path, response) === true) return;
    const list = listAt(path, request, offered);
    if (list !== undefined) response.end(JSON.stringify(list));
    else forward(mock.url, request, response).catch((error: Error) => response.destroy(error));
  };
  let server: Server | undefined;
  const port = await freePort();
  const start = async () => {
    const started = createServer(serve);
    await new Promise<void>((done) => started.listen(port, "127.0.0.1", done));
    server = started;
  };
  /** From then on nothing listens at its port. */
  const stop = async () => {
    server?.closeAllConnections();
    await new Promise((done) => server?.close(done));
  };
  await start();
  const url = `http://127.0.0.1:${port}`;
  /** Every address is this server; the keys are canaries. */
  const settings: ModelSettings = {
    ollamaHost: url,
    openaiApiKey: "canary-openai",
    openaiBaseUrl: `${url}/openai/v1`,
    anthropicApiKey: "canary-anthropic",
    anthropicBaseUrl: `${url}/anthropic/v1`,
    compatibleApiKey: "canary-compatible",
  };
  const close = async () => {
    await stop();
    await mock.stop();
  };
  return {
    url,
    settings,
    offered,
    seen: seen as readonly SeenRequest[],
    start,
    stop,
    [Symbol.asyncDispose]: close,
  };
}

function listAt(path: string, { method }: IncomingMessage, offered: Offered): object | undefined {
  if (method !== "GET") return undefined;
  if (path === "/api/tags") return { models: offered.ollama };
  if (path.startsWith("/anthropic/v1/models")) return { data: offered.anthropic, has_more: false };
  if (path === "/openai/v1/models" || path === "/v1/models") {
    return { object: "list", data: offered.openai };
  }
  return undefined;
}

/** Hands a request to aimock, which knows no folder before `/v1`. */
async function forward(
  to: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const path = (request.url ?? "").replace(/^\/(openai|anthropic)\//, "/");
  const answer = await fetch(`${to}${path}`, {
    method: request.method ?? "GET",
    headers: { "content-type": "application/json" },
    body: request.method === "GET" ? null : Buffer.concat(chunks),
  });
  const type = answer.headers.get("content-type") ?? "application/json";
  response.writeHead(answer.status, { "content-type": type });
  for await (const chunk of answer.body ?? []) response.write(chunk);
  response.end();
}
