import { z } from "zod";
import { fitting } from "../core/answer-size.ts";
import { attachmentsOf, kindOf, pictureTypes } from "../core/chat/attachments.ts";
import { notFound } from "../core/chat/chat-log.ts";
import { shownMessages } from "../core/chat/marks.ts";
import type { MessageInput } from "../core/chat/message-input.ts";
import { pendingId } from "../core/chat/waiting.ts";
import { isErased } from "../core/storage/batch.ts";
import { withVariants } from "../core/turns/turn-log.ts";
import { ifThere, noSuchChat } from "./chat-routes.ts";
import { json, type Router } from "./router.ts";
import {
  appendBody,
  before,
  body,
  ifExists,
  limit,
  prefix,
  query,
  schemaOf,
  text,
} from "./schemas.ts";
import { messageJson } from "./wire.ts";

const takeBackBody = () =>
  body("TakeBack", { ids: z.array(text(256)).min(1, "must not be empty").max(500) });

/** What was said: read, searched, taken back, erased. */
export function addMessageRoutes(router: Router): void {
  const { chats } = router.ports.throughline;
  router.get("/api/chats/{id}/messages", {
    id: "listMessages",
    query: () => z.strictObject({ limit: limit(), before: before(), if_exists: ifExists() }),
    summary: "Read a page of messages, oldest first; without `before`, the newest page",
    description:
      "A page ends early at 4 MiB, but has at least one message. Pass the `before` of an answer to get " +
      "the next page; an answer without one is the last page.",
    answers: { 200: { says: "A page.", schema: schemaOf("messagePage") }, 204: noSuchChat },
    answer: async ({ params, query }) => {
      const { limit = 50, before, if_exists } = query;
      return ifThere(if_exists, async () => {
        const { messages, ...rest } = await chats.messages(params.id, { limit, before });
        const page =
          before === undefined ? await withVariants(chats, params.id, messages) : messages;
        return json({ messages: page.map(messageJson), ...rest });
      });
    },
  });
  router.get("/api/search", {
    id: "searchMessages",
    query: () =>
      z.strictObject({
        query: query(),
        prefix: prefix(),
        limit: limit(),
        chat_id: z.string().optional(),
      }),
    summary: "Find the messages that contain every word, by chat, newest chat first",
    description:
      "Cleared and taken-back messages are left out. Only the newest 1,000 hits are searched.",
    answers: { 200: { says: "The messages, each with its chat.", schema: schemaOf("hits") } },
    answer: async ({ query }) => {
      const { limit = 50, chat_id: chatId } = query;
      const prefix = query.prefix === "true";
      const { rows, more } = fitting(await chats.search(query.query, { limit, prefix, chatId }));
      const hits = rows.map((hit) => ({ ...hit, message: messageJson(hit.message) }));
      return json({ hits, more });
    },
  });
  router.get("/api/chats/{id}/matches", {
    id: "listMatches",
    query: () => z.strictObject({ query: query(), prefix: prefix() }),
    summary: "Find the messages of one chat that contain every word, newest first",
    description: "At most 1,000. Cleared, taken-back and erased messages are left out.",
    answers: {
      200: { says: "The messages, without their text.", schema: schemaOf("matches") },
    },
    answer: async ({ params, query }) => {
      const options = { chatId: params.id, limit: 1_000, prefix: query.prefix === "true" };
      const { rows, more } = fitting(await chats.search(query.query, options));
      const matches = rows.map(({ message: { id, seq, timestamp } }) => ({ id, seq, timestamp }));
      return json({ matches, more });
    },
  });
  addAttachment(router);
  addAppend(router);
  addRemoval(router);
}

function addAppend(router: Router): void {
  const { throughline, watchers } = router.ports;
  const { chats } = throughline;
  router.post("/api/chats/{id}/append", {
    id: "appendMessages",
    body: appendBody,
    summary: "Store messages at the end of a chat, and ask no model",
    description:
      "All or none, in their order. Creates the chat on first use. A message that the chat holds under the " +
      "same id, with the same role and content, is not stored again, also once it was taken " +
      "back; with another role or content it is 409. Give each message an id if you repeat requests. " +
      "A turn that runs continues, and its reply comes after these messages. Fields of your own are kept. " +
      "What is new and was said within 60 s of now is heard as in a turn: working memory, the moment's " +
      "buffer and `session.json` get it, and the feelings, unless it is `synthetic`. A crash between " +
      "storing and hearing leaves it unheard.",
    answers: { 200: { says: "Their ids, in the same order.", schema: schemaOf("messageIds") } },
    answer: async ({ params, body }) => {
      const { messages, ...options } = body;
      const stored = await chats.append(params.id, messages as readonly MessageInput[], options);
      const { logs } = chats;
      for (const message of await shownMessages(logs, params.id, stored)) {
        const shown = messageJson(message);
        watchers.publish("message", { change: "stored", chat_id: params.id, message: shown });
      }
      return json({ ids: stored.map(({ id }) => id) });
    },
  });
  router.post("/api/chats/{id}/take-back", {
    id: "takeBackMessages",
    body: takeBackBody,
    summary: "Take messages back: for an edited question, or a reply that is made again",
    description:
      "All or none. No model, page, search, export or later fork has them any more, and nothing is shown " +
      "where they stood. Their bytes stay until they are erased or the chat is forgotten. To remove what " +
      "a person wants gone, also in forks and packages, use `DELETE` instead. 404: one of these is no " +
      "message of the chat, or was cleared; nothing is changed then. Can be repeated.",
    answers: { 200: { says: "The same ids.", schema: schemaOf("messageIds") } },
    answer: async ({ params, body }) => {
      await chats.takeBack(params.id, body.ids);
      for (const message_id of body.ids) {
        watchers.publish("message", { change: "taken_back", chat_id: params.id, message_id });
      }
      return json({ ids: body.ids });
    },
  });
}

/** What asked for an erasure when there was another way: `false` would have kept the bytes, and is refused. */
const erase = () => z.literal("true", "must be true").optional();

function addRemoval(router: Router): void {
  const { throughline, watchers } = router.ports;
  const { chats } = throughline;
  router.delete("/api/chats/{id}/messages/{message_id}", {
    id: "removeMessage",
    query: () => z.strictObject({ erase: erase() }),
    summary: "Erase a message",
    description:
      "Removes its bytes; a mark stays where it stood (`redacted`). Reaches the forks of the chat and what it is " +
      "a fork of, and deletes the packages of moments that hold the message; `unreachable` names what was " +
      "not reached. Also removes the bytes of the chat that could not be read, and counts " +
      "them as `damaged_bytes`. `erase` is ignored. Can be repeated.",
    answers: { 200: { says: "What was done.", schema: schemaOf("removed") } },
    answer: async ({ params }) => {
      const { id: chat_id, message_id } = params;
      const { erased, ...receipt } = await chats.erase(chat_id, message_id);
      const { logs } = chats;
      const wasErased = async (id: string) => {
        const record = await logs.find(chat_id, id);
        return record !== undefined && isErased(record);
      };
      // What was erased while it waited for its turn never was a message.
      if (!erased && !(await wasErased(message_id)) && !(await wasErased(pendingId(message_id)))) {
        throw notFound(chat_id, "message");
      }
      for (const id of [chat_id, ...receipt.copies]) {
        watchers.publish("message", { change: "erased", chat_id: id, message_id });
      }
      return json({ ...receipt, erased: true });
    },
  });
}

/** The files of messages, as long as their messages are shown. */
function addAttachment(router: Router): void {
  const { chats } = router.ports.throughline;
  router.get("/api/chats/{id}/messages/{message_id}/attachments/{sha256}", {
    id: "getAttachment",
    summary: "Get a file that was sent with a message",
    description:
      "PNG, JPEG, GIF and WebP pictures may be shown in a page. Every other file is a download. 404 once the " +
      "message was taken back, erased or cleared, or its chat forgotten.",
    answers: {
      200: { says: "The bytes.", types: ["application/octet-stream", ...pictureTypes] },
      304: { says: "The bytes are those that `If-None-Match` names." },
    },
    answer: async ({ params }, context) => {
      const { id: chatId, message_id: messageId, sha256 } = params;
      const { head } = await chats.existing(chatId);
      const message = await chats.message(chatId, messageId);
      const isShown = message.seq > (head.clear_seq ?? 0);
      const file = attachmentsOf(message).find((each) => each.sha256 === sha256);
      if (!isShown || file === undefined) throw notFound(chatId, "file");
      const etag = `"${sha256}"`;
      // Asked again each time: what was hidden or forgotten must not come from a cache.
      const caching = { "cache-control": "private, no-cache", etag };
      if (context.req.header("if-none-match") === etag) {
        return new Response(null, { status: 304, headers: caching });
      }
      const bytes = await chats.attachment(chatId, sha256);
      const isPicture = kindOf(file) === "picture";
      const how = isPicture ? "inline" : "attachment";
      return new Response(new Uint8Array(bytes), {
        headers: {
          ...caching,
          // Nothing of a file that a person made may run, whatever a browser takes it for.
          "content-type": isPicture ? file.type : "application/octet-stream",
          "content-disposition": `${how}; ${fileNameParameter(file.name)}`,
          "content-security-policy": "default-src 'none'; sandbox",
          "content-length": String(bytes.length),
        },
      });
    },
  });
}

/** A name as a parameter of a header, for browsers of any age (RFC 6266). */
function fileNameParameter(name: string): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, "_");
  const encoded = encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `filename="${plain}"; filename*=UTF-8''${encoded}`;
}
