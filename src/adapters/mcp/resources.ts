// The resources: chats and transcripts, for people who pick what a model gets.
import { type McpServer, ResourceTemplate, UriTemplate } from "@modelcontextprotocol/server";
import { z } from "zod";
import { invalid } from "../../core/errors.ts";
import type { Throughline } from "../../core/throughline.ts";
import { notice, parsed, shownMessage, warning } from "./tools.ts";

const root = "throughline://chats";

/** The package's own matching wants every name of a query, in order. */
class TranscriptUri extends UriTemplate {
  constructor() {
    super(`${root}/{chatId}/transcript{?before,limit}`);
  }

  override match(uri: string) {
    const [path = "", query = ""] = uri.split("?", 2);
    const [, chatId] = /^throughline:\/\/chats\/([^/]+)\/transcript$/.exec(path) ?? [];
    return chatId === undefined
      ? null
      : { ...Object.fromEntries(new URLSearchParams(query)), chatId };
  }
}

const whole = z
  .string()
  .regex(/^(0|[1-9]\d{0,15})$/, "must be a whole number")
  .transform(Number)
  .optional();
const page = z.strictObject({ chatId: z.string(), before: whole, limit: whole });

/** Answers a read. What it throws becomes an error of the protocol. */
type Reading = <T>(uri: URL, work: () => Promise<T>) => Promise<T>;

/** @param reading runs each read. */
export function addResources(
  server: McpServer,
  { chats, sessions }: Throughline,
  reading: Reading,
) {
  const json = "application/json";
  const answer = (uri: URL, work: () => Promise<object>) =>
    reading(uri, async () => {
      const text = JSON.stringify({ notice, ...(await work()) });
      return { contents: [{ uri: uri.href, mimeType: json, text }] };
    });
  server.registerResource(
    "chats",
    root,
    { title: "Chats", description: `The 100 newest chats. ${warning}`, mimeType: json },
    (uri) => answer(uri, () => chats.list({ limit: 100 })),
  );
  const list = async () => {
    const { chats: rows } = await chats.list({ limit: 100 });
    return {
      resources: rows.map(({ chat_id }) => {
        return { uri: `${root}/${encodeURIComponent(chat_id)}`, name: chat_id, mimeType: json };
      }),
    };
  };
  server.registerResource(
    "chat",
    new ResourceTemplate(`${root}/{chatId}`, { list }),
    { title: "A chat", description: `A chat and its session. ${warning}`, mimeType: json },
    (uri, { chatId }) =>
      answer(uri, async () => {
        const id = decoded(chatId);
        return { chat: await chats.row(id), session: (await sessions.active(id)) ?? null };
      }),
  );
  server.registerResource(
    "transcript",
    new ResourceTemplate(new TranscriptUri(), { list: undefined }),
    {
      title: "A transcript",
      description: `What was said: the newest 50 messages, or limit before a number, oldest first. ${warning}`,
      mimeType: json,
    },
    (uri, variables) =>
      answer(uri, async () => {
        const { chatId, ...options } = parsed(page, variables);
        const { messages, before } = await chats.messages(decoded(chatId), options);
        return { messages: messages.map(shownMessage), before };
      }),
  );
}

function decoded(chatId: string | readonly string[] | undefined): string {
  try {
    return decodeURIComponent(String(chatId));
  } catch (cause) {
    throw invalid("the chat's id is not well encoded", cause);
  }
}
