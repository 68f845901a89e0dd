import { z } from "zod";
import { notFound } from "../core/chat/chat-log.ts";
import type { RemovalReceipt } from "../core/chat/forget-receipt.ts";
import { pendingId } from "../core/chat/shown-messages.ts";
import { isErased } from "../core/storage/batch.ts";
import { ifThere, noSuchChat } from "./chat-routes.ts";
import { json, type Router } from "./router.ts";
import {
  before,
  chatParams,
  ifExists,
  limit,
  messageParams,
  prefix,
  query,
  schemaOf,
} from "./schemas.ts";
import { messageJson } from "./wire.ts";

/** What was said: read, searched, hidden, erased. */
export function addMessageRoutes(router: Router): void {
  const { chats } = router.ports.throughline;
  router.add(
    {
      method: "get",
      path: "/api/chats/{id}/messages",
      id: "listMessages",
      params: chatParams,
      query: () => z.strictObject({ limit: limit(), before: before(), if_exists: ifExists() }),
      summary: "A page of messages, oldest first; the newest page without `before`",
      description:
        "A page ends before `limit` where its messages hold 4 MiB; it has one at least. The `before` of " +
        "an answer asks for the next page; without one, this is the last.",
      answers: { 200: { says: "A page.", schema: schemaOf("messagePage") }, 204: noSuchChat },
    },
    async ({ params, query }) => {
      const { limit = 50, before, if_exists } = query;
      return ifThere(if_exists, async () => {
        const { messages, ...rest } = await chats.messages(params.id, { limit, before });
        return json({ messages: messages.map(messageJson), ...rest });
      });
    },
  );
  router.add(
    {
      method: "get",
      path: "/api/search",
      id: "searchMessages",
      query: () =>
        z.strictObject({
          query: query(),
          prefix: prefix(),
          limit: limit(),
          chat_id: z.string().optional(),
        }),
      summary: "Messages that hold every word, by chat, newest chat first",
      description:
        "What was cleared or redacted is left out. Where the first 1,000 hits are not enough, at " +
        "most 2,000 chats after those are looked into.",
      answers: { 200: { says: "The messages, each with its chat.", schema: schemaOf("hits") } },
    },
    async ({ query }) => {
      const { limit = 50, chat_id: chatId } = query;
      const prefix = query.prefix === "true";
      const hits = await chats.search(query.query, { limit, prefix, chatId });
      return json({ hits: hits.map((hit) => ({ ...hit, message: messageJson(hit.message) })) });
    },
  );
  router.add(
    {
      method: "get",
      path: "/api/chats/{id}/matches",
      id: "listMatches",
      params: chatParams,
      query: () => z.strictObject({ query: query(), prefix: prefix() }),
      summary: "Where in a chat the messages are that hold every word, newest first",
      description: "At most 1,000 of them. What was cleared or redacted is left out.",
      answers: {
        200: { says: "The messages, without what they say.", schema: schemaOf("matches") },
      },
    },
    async ({ params, query }) => {
      const options = { chatId: params.id, limit: 1_000, prefix: query.prefix === "true" };
      const hits = await chats.search(query.query, options);
      const matches = hits.map(({ message: { id, seq, timestamp } }) => ({ id, seq, timestamp }));
      return json({ matches });
    },
  );
  addRemoval(router);
}

const erase = () => z.enum(["true", "false"], "must be true or false").optional();

function addRemoval(router: Router): void {
  const { throughline, watchers } = router.ports;
  const { chats } = throughline;
  const told = (change: "redacted" | "erased", { chat_id, message_id, copies }: RemovalReceipt) => {
    for (const id of [chat_id, ...copies]) {
      watchers.publish("message", { change, chat_id: id, message_id });
    }
  };
  router.add(
    {
      method: "delete",
      path: "/api/chats/{id}/messages/{message_id}",
      id: "removeMessage",
      params: messageParams,
      query: () => z.strictObject({ erase: erase() }),
      summary: "Hides a message, or erases it",
      description:
        "Hidden: no page, search, export or model shows its text any more, and its bytes stay in the " +
        "transcript. `erase=true` really removes the bytes. Both reach the forks of the chat and what it is " +
        "a fork of, and delete the packages of moments that hold the message; `unreachable` names what was " +
        "not reached. An erasure also removes the bytes of the chat that could not be read, and tells " +
        "how many as `damaged_bytes`. Both can be repeated.",
      answers: { 200: { says: "What was done.", schema: schemaOf("removed") } },
    },
    async ({ params, query }) => {
      const { id: chat_id, message_id } = params;
      if (query.erase !== "true") {
        const receipt = await chats.redact(chat_id, message_id);
        told("redacted", receipt);
        return json({ ...receipt, redacted: true, erased: false });
      }
      const { erased, ...receipt } = await chats.erase(chat_id, message_id);
      const { logs } = chats.log.ports;
      const wasErased = async (id: string) => {
        const record = await logs.find(chat_id, id);
        return record !== undefined && isErased(record);
      };
      // What was erased while it waited for its turn never was a message.
      if (!erased && !(await wasErased(message_id)) && !(await wasErased(pendingId(message_id)))) {
        throw notFound(chat_id, "message");
      }
      told("erased", receipt);
      return json({ ...receipt, redacted: false, erased: true });
    },
  );
}
