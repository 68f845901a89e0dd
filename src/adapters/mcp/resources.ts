// The resources: chats, for people who pick what a model gets.
import { type McpServer, ResourceTemplate } from "@modelcontextprotocol/server";
import { invalid } from "../../core/errors.ts";
import type { Throughline } from "../../core/throughline.ts";
import { notice, shownMessage, warning } from "./tools.ts";

const root = "throughline://chats";
const mimeType = "application/json";

/** Most messages of a chat's resource. */
const newest = 200;

/** Answers a read. What it throws becomes an error of the protocol. */
type Reading = <T>(uri: URL, work: () => Promise<T>) => Promise<T>;

/** @param reading runs each read. */
export function addResources(
  server: McpServer,
  { chats, sessions }: Throughline,
  reading: Reading,
) {
  const list = async () => {
    const { chats: rows } = await chats.list({ limit: 100 });
    return {
      resources: rows.map(({ chat_id }) => {
        return { uri: `${root}/${encodeURIComponent(chat_id)}`, name: chat_id, mimeType };
      }),
    };
  };
  const description = `A chat, its session and its newest ${newest} messages. ${warning}`;
  server.registerResource(
    "chat",
    new ResourceTemplate(`${root}/{chatId}`, { list }),
    { title: "A chat", description, mimeType },
    (uri, { chatId }) =>
      reading(uri, async () => {
        const id = decoded(String(chatId));
        const { messages } = await chats.messages(id, { limit: newest });
        const [chat, session = null] = [await chats.row(id), await sessions.active(id)];
        const shown = { notice, chat, session, messages: messages.map(shownMessage) };
        return { contents: [{ uri: uri.href, mimeType, text: JSON.stringify(shown) }] };
      }),
  );
}

function decoded(chatId: string): string {
  try {
    return decodeURIComponent(chatId);
  } catch (cause) {
    throw invalid("the chat's id is not well encoded", cause);
  }
}
