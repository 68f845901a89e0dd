// The Conversations API of OpenAI in the server, behind the guard and the token of all routes: a conversation is a
// chat. Its description is OpenAI's.

import { z } from "zod";
import { fitting } from "../../core/answer-size.ts";
import { checkMetadata } from "../../core/chat/chat-head.ts";
import { notFound } from "../../core/chat/chat-log.ts";
import type { StoredMessage } from "../../core/chat/message.ts";
import type { JsonObject } from "../../core/json.ts";
import { parseInput, queryOf, readJson } from "../../server/input.ts";
import type { ServerFeature } from "../../server/options.ts";
import type { Problem } from "../../server/problem.ts";
import { json, type Router } from "../../server/router.ts";
import { messageJson } from "../../server/wire.ts";
import { ConversationItems, problemOf } from "./conversation-items.ts";

const item = z
  .looseObject({
    type: z.string().optional(),
    role: z.enum(["user", "assistant", "system", "developer"]).optional(),
  })
  .superRefine((given, context) => {
    const problem = problemOf(given);
    if (problem !== undefined) context.addIssue(problem);
  });
const items = () => z.array(item).max(900);
const created = () =>
  z.strictObject({
    items: items().nullish(),
    metadata: z.record(z.string(), z.string()).nullish(),
  });
const added = () => z.strictObject({ items: items().min(1) });
const listed = () =>
  z.strictObject({
    after: z.string().optional(),
    limit: z.coerce.number().int().min(1).max(100).default(20),
    order: z.enum(["asc", "desc"]).default("desc"),
  });

/** `/v1/conversations…`, for `createServer`. What is changed through it is published to those who watch. */
export function conversationRoutes(): ServerFeature {
  return (router: Router) => {
    router.showProblemsAs("/v1/", openAiError);
    addConversations(router);
    addItems(router);
    return () => undefined;
  };
}

/** What OpenAI's clients make an error of: its code is ours. */
function openAiError({ detail, code, status }: Problem): object {
  const type = status < 500 ? "invalid_request_error" : "server_error";
  return { error: { message: detail, type, param: null, code } };
}

function addConversations(router: Router): void {
  const { throughline, turns, watchers, limits, begin } = router.ports;
  const { chats, ports } = throughline;
  router.serve("post", "/v1/conversations", async ({ req }) => {
    const body = parseInput(created(), await readJson(req.raw, limits.bodyBytes), "the body");
    const metadata: JsonObject = body.metadata ?? {};
    checkMetadata(metadata);
    const id = `conv_${ports.newId()}`;
    return begin(async () => {
      const conversation = new ConversationItems(throughline, id);
      const inputs = await conversation.inputs(body.items ?? []);
      const stored = await chats.change(id, async (transaction) => {
        transaction.control("metadata", { metadata });
        transaction.set({ metadata });
        return inputs.map((input) => transaction.message(input) as unknown as StoredMessage);
      });
      publishStored(router, id, stored);
      return json(await conversation.row());
    });
  });
  router.serve("get", "/v1/conversations/{id}", ({ req }) =>
    begin(async () => json(await new ConversationItems(throughline, idOf(req.param())).row())),
  );
  router.serve("delete", "/v1/conversations/{id}", ({ req }) =>
    begin(async () => {
      const id = idOf(req.param());
      await chats.existing(id);
      await turns.end(id);
      await chats.forget(id);
      watchers.publish("session", { chat_id: id, change: "forgotten" });
      return json({ id, object: "conversation.deleted", deleted: true });
    }),
  );
}

function addItems(router: Router): void {
  const { throughline, watchers, limits, begin } = router.ports;
  const path = "/v1/conversations/{id}/items";
  const of = (params: Readonly<Record<string, string>>) => {
    return new ConversationItems(throughline, idOf(params));
  };
  router.serve("post", path, async ({ req }) => {
    const body = parseInput(added(), await readJson(req.raw, limits.bodyBytes), "the body");
    return begin(async () => {
      const conversation = of(req.param());
      const { stored, data } = await conversation.add(body.items);
      publishStored(router, idOf(req.param()), stored);
      return json(listOf(data, false));
    });
  });
  router.serve("get", path, ({ req }) => {
    const query = parseInput(listed(), queryOf(new URL(req.url)), "the query");
    return begin(async () => {
      const { data, hasMore } = await of(req.param()).list(query);
      const { rows, more } = fitting(data);
      return json(listOf(rows, more ?? hasMore));
    });
  });
  router.serve("delete", `${path}/{item_id}`, ({ req }) =>
    begin(async () => {
      const id = idOf(req.param());
      const conversation = of({ id });
      const gone = await conversation.remove(req.param("item_id") ?? "");
      const change = { change: "taken_back", chat_id: id, message_id: gone } as const;
      watchers.publish("message", change);
      return json(await conversation.row());
    }),
  );
}

function listOf(data: readonly { readonly id: string }[], hasMore: boolean): object {
  const [first, last] = [data[0]?.id ?? null, data.at(-1)?.id ?? null];
  return { object: "list", data, first_id: first, last_id: last, has_more: hasMore };
}

function idOf({ id }: Readonly<Record<string, string | undefined>>): string {
  if (id === undefined) throw notFound("");
  return id;
}

function publishStored(router: Router, chatId: string, stored: readonly StoredMessage[]): void {
  for (const each of stored) {
    const message = messageJson(each);
    router.ports.watchers.publish("message", { change: "stored", chat_id: chatId, message });
  }
}
