// An Ollama on loopback whose answers are made by the caller: it lists its models, says which of them take
// pictures, and speaks OpenAI's chat protocol, as Ollama does.
import type { IncomingMessage, ServerResponse } from "node:http";
import { bodyOf, loopback } from "./loopback.ts";
import { chatStream } from "./openai-server.ts";

export interface AskedMessage {
  readonly role: string;
  /** Text, or parts of which some are pictures. */
  readonly content: unknown;
}

export interface Asked {
  readonly model: string;
  readonly messages: readonly AskedMessage[];
}

export interface OllamaOptions {
  /** By name: what each can do, such as `vision`. */
  readonly models: Readonly<Record<string, readonly string[]>>;
  readonly answer: (asked: Asked) => string;
}

export async function ollamaServer({ models, answer }: OllamaOptions) {
  const asked: Asked[] = [];
  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    const body = JSON.parse((await bodyOf(request)).toString() || "{}");
    if (request.url === "/api/tags") {
      response.end(JSON.stringify({ models: Object.keys(models).map((name) => ({ name })) }));
    } else if (request.url === "/api/show") {
      response.end(JSON.stringify({ capabilities: ["completion", ...(models[body.model] ?? [])] }));
    } else {
      asked.push(body);
      response.writeHead(200, { "content-type": "text/event-stream" });
      const stream = chatStream(answer(body));
      response.end(stream.replaceAll('"served-1"', JSON.stringify(body.model)));
    }
  };
  return { ...(await loopback(respond)), asked: asked as readonly Asked[] };
}

/** The words of a message, without its pictures. */
export function wordsOf(message: AskedMessage | undefined): string {
  const { content } = message ?? {};
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
}

export function hasPicture(message: AskedMessage | undefined): boolean {
  const { content } = message ?? {};
  return Array.isArray(content) && content.some(({ type }) => type === "image_url");
}
