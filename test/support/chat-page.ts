// A chat page without a browser: the SDK's own chat and transport, over HTTP, against the routes.
import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { ReadableStream as NodeStream } from "node:stream/web";
import type { TestContext } from "node:test";
import {
  AbstractChat,
  type ChatInit,
  convertToModelMessages,
  DefaultChatTransport,
  isStepCount,
  streamText,
  type ToolSet,
  type UIMessage,
} from "ai";
import { type ChatRoutes, chatRoutes } from "../../src/adapters/ai-sdk/chat-routes.ts";
import { loadMessages } from "../../src/adapters/ai-sdk/load-messages.ts";
import type { ChatTurn, UIAnswer } from "../../src/adapters/ai-sdk/make-answer.ts";
import { openThroughline, type Throughline } from "../../src/core/throughline.ts";
import { loopback } from "./loopback.ts";
import { type AiStep, scriptedAiModel } from "./scripted-ai-model.ts";

/** The routes behind a real server. */
export async function chatServer(routes: ChatRoutes) {
  let asked = 0;
  const server = await loopback((incoming, outgoing) => {
    asked++;
    return serve(routes, incoming, outgoing);
  });
  /** `asked`: how many requests the routes were given. */
  return { ...server, api: `${server.url}/api/chat`, asked: () => asked };
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

/** As it goes over the wire. */
export const json = (messages: readonly UIMessage[]) => JSON.parse(JSON.stringify(messages));

/** A server of a chat page for the chat `c1`, and a model that says what the test wants. */
export async function chatWorld(
  t: TestContext,
  given: {
    readonly answers: readonly (readonly AiStep[])[];
    /** For `streamText`, such as its tools. */
    readonly options?: { readonly tools?: ToolSet; readonly toolApproval?: object };
    readonly throughline?: Throughline;
    readonly respond?: (turn: ChatTurn) => UIAnswer;
  },
) {
  const { answers, options, respond } = given;
  const throughline = given.throughline ?? (await openThroughline({ storage: "memory" }));
  const model = scriptedAiModel(answers);
  const asked: ChatTurn[] = [];
  const server = await chatServer(
    chatRoutes(throughline, {
      async respond(turn) {
        asked.push({ ...turn, messages: structuredClone(turn.messages) });
        if (respond !== undefined) return respond(turn);
        const messages = await convertToModelMessages(turn.messages);
        const abortSignal = turn.signal;
        const more = { stopWhen: isStepCount(5), onError: () => undefined, maxRetries: 0 };
        return streamText({ model, messages, abortSignal, ...more, ...options });
      },
    }),
  );
  t.after(async () => {
    await server[Symbol.asyncDispose]();
    await throughline.close();
  });
  const { api } = server;
  const load = async () => (await loadMessages(throughline, "c1")) as UIMessage[];
  return {
    throughline,
    model,
    asked,
    api,
    load,
    requests: server.asked,
    page: (messages: UIMessage[] = [], more: object = {}) =>
      new PageChat({ id: "c1", api, messages, ...more }),
    post: (body: unknown, headers: object = {}) => {
      const all = { "content-type": "application/json", ...headers };
      return fetch(api, { method: "POST", headers: all, body: JSON.stringify(body) });
    },
    stored: async () => (await throughline.chats.messages("c1", { limit: 1_000 })).messages,
    texts: async () => (await load()).map(textsOf),
    unanswered: async () => (await throughline.chats.list({ unanswered: true })).chats.length,
    stop: () => fetch(`${api}/c1/stream`, { method: "DELETE" }),
    watch: (id = "c1") => fetch(`${api}/${encodeURIComponent(id)}/stream`),
  };
}
