// A chat page without a browser: the SDK's own chat and transport, over HTTP, against the routes.
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import type { ReadableStream as NodeStream } from "node:stream/web";
import { AbstractChat, type ChatInit, DefaultChatTransport, type UIMessage } from "ai";
import type { ChatRoutes } from "../../src/adapters/ai-sdk/chat-routes.ts";

/** The routes behind a real server. */
export async function chatServer(routes: ChatRoutes) {
  let asked = 0;
  const server = createServer((incoming, outgoing) => {
    void serve(routes, incoming, outgoing);
    asked++;
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return {
    api: `http://127.0.0.1:${port}/api/chat`,
    /** How many requests the routes were given. */
    asked: () => asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function serve(routes: ChatRoutes, incoming: IncomingMessage, outgoing: ServerResponse) {
  const left = new AbortController();
  outgoing.on("close", () => left.abort());
  const { method = "GET", headers, url = "/" } = incoming;
  const handler = method === "POST" || method === "DELETE" ? routes[method] : routes.GET;
  const request = new Request(`http://127.0.0.1${url}`, {
    method,
    headers: headers as Record<string, string>,
    signal: left.signal,
    body: method === "POST" ? (Readable.toWeb(incoming) as ReadableStream) : null,
    duplex: "half",
  });
  const response = await handler(request);
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) outgoing.end();
  else {
    const body = Readable.fromWeb(response.body as NodeStream);
    body.on("error", () => outgoing.destroy());
    outgoing.on("close", () => body.destroy());
    body.pipe(outgoing);
  }
}

/** `useChat` without React: the state is plain. */
export class PageChat extends AbstractChat<UIMessage> {
  constructor({ api, ...init }: ChatInit<UIMessage> & { readonly api: string }) {
    const { messages = [], ...rest } = init;
    const state = {
      messages,
      status: "ready" as const,
      error: undefined,
      pushMessage(message: UIMessage) {
        this.messages = [...this.messages, message];
      },
      popMessage() {
        this.messages = this.messages.slice(0, -1);
      },
      replaceMessage(index: number, message: UIMessage) {
        this.messages = this.messages.with(index, structuredClone(message));
      },
      snapshot: <T>(thing: T): T => structuredClone(thing),
    };
    super({
      transport: new DefaultChatTransport({ api }),
      onError: () => undefined,
      ...rest,
      state,
    });
  }

  /** What each message says. */
  get texts(): string[] {
    return this.messages.map(textsOf);
  }
}

export function textsOf({ role, parts }: Pick<UIMessage, "role" | "parts">): string {
  const texts = parts.map((part) => (part.type === "text" ? part.text : undefined));
  return `${role}: ${texts.filter((text) => text !== undefined).join(" | ")}`;
}
