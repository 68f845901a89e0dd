import type { IncomingMessage, ServerResponse } from "node:http";
import { bodyOf, loopback } from "./loopback.ts";

/** How one request is answered. Without fields: "Hello from the model.", with usage, whole. */
export interface Reply {
  readonly text?: string;
  /** The bytes of the stream, where a text is not enough. */
  readonly stream?: string;
  /** An error instead. Its message repeats the key that was sent, as OpenAI's does. */
  readonly status?: number;
  /** The error's `code` and `param`. */
  readonly code?: string;
  readonly param?: string;
  /** The body of the error, where it is another one than OpenAI's. */
  readonly body?: string;
  /** The error's `retry-after`, in seconds. */
  readonly retryAfter?: number;
  /** Only this many bytes of the stream are sent; then the connection ends cleanly, or breaks. */
  readonly cutAt?: number;
  readonly cut?: "close" | "reset";
  /** After what was to be sent, nothing happens any more. With `cutAt: -1` not even headers are sent. */
  readonly hang?: true;
}

export interface SeenRequest {
  readonly path: string;
  readonly key: string | undefined;
  readonly body: { readonly [name: string]: unknown };
  /** Resolves when the client has gone away before the end. */
  readonly gone: Promise<void>;
}

/**
 * A server of our own that speaks OpenAI's chat protocol on loopback: a second opinion beside
 * aimock, and cuts at a chosen byte. `reply` is asked for each request with its number, from 0.
 */
export async function openAiServer(
  reply: (n: number, request: SeenRequest) => Reply | Promise<Reply> = () => ({}),
) {
  const requests: SeenRequest[] = [];
  const serve = async (incoming: IncomingMessage, response: ServerResponse) => {
    const sent = await bodyOf(incoming);
    const gone = new Promise<void>((resolve) => {
      response.on("close", () => response.writableFinished || resolve());
    });
    const key = incoming.headers.authorization?.replace("Bearer ", "");
    const body = JSON.parse(sent.toString() || "{}");
    const request = { path: incoming.url ?? "", key, body, gone };
    requests.push(request);
    answer(response, await reply(requests.length - 1, request), key);
  };
  const server = await loopback(serve);
  return { ...server, url: `${server.url}/v1`, requests: requests as readonly SeenRequest[] };
}

function answer(response: ServerResponse, reply: Reply, key: string | undefined): void {
  if (reply.cutAt === -1) return;
  if (reply.status !== undefined) {
    const { retryAfter } = reply;
    response.writeHead(reply.status, {
      "content-type": "application/json",
      // Keeps the retries of a test short.
      [retryAfter === undefined ? "retry-after-ms" : "retry-after"]: `${retryAfter ?? 1}`,
    });
    const message = `Incorrect API key provided: ${key}.`;
    const { code = null, param = null } = reply;
    const error = { message, type: "invalid_request_error", code, param };
    response.end(reply.body ?? JSON.stringify({ error }));
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const bytes = Buffer.from(reply.stream ?? chatStream(reply.text ?? "Hello from the model."));
  if (reply.cutAt === undefined && !reply.hang) {
    response.end(bytes);
    return;
  }
  response.write(bytes.subarray(0, reply.cutAt ?? bytes.length), () => {
    if (reply.hang) return;
    if (reply.cut === "reset") response.socket?.resetAndDestroy();
    else response.end();
  });
}

/** The server-sent events of one answer, a word an event, with usage and `[DONE]` at the end. */
export function chatStream(text: string): string {
  const words = text.match(/\S+\s*/g) ?? [];
  const usage = {
    prompt_tokens: 12,
    completion_tokens: words.length,
    total_tokens: 12 + words.length,
  };
  const events = [
    ...words.map((content) => ({ choices: [{ index: 0, delta: { role: "assistant", content } }] })),
    { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
    { choices: [], usage },
  ].map((event) => ({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    model: "served-1",
    ...event,
  }));
  return [...events.map((event) => JSON.stringify(event)), "[DONE]"]
    .map((data) => `data: ${data}\n\n`)
    .join("");
}

/** The stream of a chat completion, as OpenAI-compatible servers send it. */
export function deltaStream(deltas: readonly object[], finish: string): string {
  const choices = [
    ...deltas.map((delta) => ({ index: 0, delta: { role: "assistant", ...delta } })),
    { index: 0, delta: {}, finish_reason: finish },
  ];
  const chunk = { id: "1", object: "chat.completion.chunk", model: "m" };
  const events = choices.map((choice) => JSON.stringify({ ...chunk, choices: [choice] }));
  return [...events, "[DONE]"].map((data) => `data: ${data}\n\n`).join("");
}
