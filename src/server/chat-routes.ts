import { z } from "zod";
import { fitting } from "../core/answer-size.ts";
import { compactIn, consolidateIn } from "../core/chat/chats.ts";
import { linksOf } from "../core/chat/forks.ts";
import type { StoredMessage } from "../core/chat/message.ts";
import { invalid, isThroughlineError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import type { Throughline } from "../core/throughline.ts";
import type { Turns } from "../core/turns/turns.ts";
import { json, type Router } from "./router.ts";
import {
  body,
  flag,
  ifExists,
  limit,
  prefix,
  query,
  resetBody,
  schemaOf,
  text,
} from "./schemas.ts";
import { messageJson } from "./wire.ts";

const compactBody = () =>
  body("Compact", {
    up_to_seq: z.int().min(1).optional().describe("The last message that it stands for."),
    summary: z.string().optional(),
    last_consolidated: z.int().min(0).optional().describe("How many messages you summarised."),
  });
const renameBody = () =>
  body("Rename", {
    title: z
      .string()
      .max(1_000)
      .describe("Cut at 120 characters. Empty: the first thing that was said."),
  });
const metadataBody = () =>
  body("ChatMetadata", {
    metadata: z.unknown().meta({
      type: "object",
      description:
        "Any JSON object. `user_timezone`, an IANA zone, is where this chat's days begin.",
    }),
  });
const forkBody = () =>
  body("Fork", {
    message_id: text(256)
      .optional()
      .describe("The last message to copy. Without it none is, for another beginning."),
    chat_id: text(1_024)
      .refine((id) => !/^\.{1,2}$/.test(id), "must not be . or ..: no path leads there")
      .describe("The new chat: its id must not be in use, nor be `.` or `..`."),
  });

/** Chats and their periods: list, read, start afresh, copy, forget. */
export function addChatRoutes(router: Router): void {
  addReading(router);
  addChanges(router);
  addEdits(router);
  addFork(router);
}

function addReading(router: Router): void {
  const { throughline, turns } = router.ports;
  router.get("/api/chats", {
    id: "listChats",
    summary: "List the chats, the one a person used last first",
    description:
      "With `query`, the chats with a message that contains every word, each with the newest such message " +
      "(`match`) and their number (`match_count`, up to 100), and the chats whose title or id contains " +
      "every word. Such a list has one page. Only the newest 1,000 hits, and titles and ids of the first " +
      "10,000 chats, are searched.",
    query: () =>
      z.strictObject({
        limit: limit(),
        query: query().optional(),
        prefix: prefix(),
        cursor: z.string().min(1, "must not be empty").optional(),
        unanswered: flag().meta({ description: "Only chats in which a message has no answer." }),
        damaged: flag().meta({ description: "Only chats found damaged; one page." }),
      }),
    answers: { 200: { says: "A page of chats.", schema: schemaOf("chatList") } },
    answer: async ({ query }) => {
      const { unanswered, damaged, query: words, prefix, cursor, limit = 50 } = query;
      const only = { unanswered: unanswered === "true", damaged: damaged === "true" };
      if (words === undefined) {
        return json(await throughline.chats.list({ cursor, limit, ...only }));
      }
      if (cursor !== undefined) throw invalid("a list with a query has no cursor");
      const options = { ...only, limit, prefix: prefix === "true" };
      const { rows, more } = fitting(await throughline.chats.findChats(words, options));
      const shown = (match: StoredMessage | undefined) => match && messageJson(match);
      return json({ chats: rows.map((row) => ({ ...row, match: shown(row.match) })), more });
    },
  });
  router.get("/api/chats/{id}", {
    id: "getChat",
    query: () => z.strictObject({ if_exists: ifExists() }),
    summary: "Get one chat: its session and what waits in it",
    answers: {
      200: {
        says: "The session as it is stored. Whether it is stale is not checked.",
        schema: schemaOf("chat"),
      },
      204: noSuchChat,
    },
    answer: async ({ params, query }) =>
      ifThere(query.if_exists, async () => json(await chatView(throughline, turns, params.id))),
  });
}

function addChanges(router: Router): void {
  const { throughline, turns, watchers } = router.ports;
  const { chats, sessions } = throughline;
  router.delete("/api/chats/{id}", {
    id: "forgetChat",
    summary: "Forget a chat everywhere",
    description: "A running turn is stopped first. Can be repeated.",
    answers: {
      200: { says: "What was removed, and from where.", schema: schemaOf("forgetReceipt") },
    },
    answer: async ({ params }) => {
      await turns.end(params.id);
      const forgotten = await chats.forget(params.id);
      watchers.publish("session", { chat_id: params.id, change: "forgotten" });
      return json(forgotten);
    },
  });
  router.post("/api/chats/{id}/reset", {
    id: "resetSession",
    body: resetBody,
    summary: "Begin again with one provider, or begin a new session with all of them",
    description:
      "Without a body, the provider of the next turn forgets what was said, and the others keep their " +
      "part. `provider` names another one: 404 if the chat has no session with it. `all` begins a new " +
      "session with every provider. The messages stay readable, and the model of the next turn stays " +
      "the same. Opens a session where there is none.",
    answers: { 200: { says: "The session as it is now.", schema: schemaOf("session") } },
    answer: async ({ params, body }) => {
      const { provider, all = false } = body;
      if (all && provider !== undefined) throw invalid("name a provider or all of them, not both");
      const view = all
        ? await sessions.reset(params.id)
        : provider === undefined
          ? await sessions.resetProvider(params.id, (await turns.target(params.id)).provider, {
              isNext: true,
            })
          : await sessions.resetProvider(params.id, provider);
      const change = all ? "reset" : "provider_reset";
      watchers.publish("session", { chat_id: params.id, change });
      return json(view);
    },
  });
}

const chatNow = { 200: { says: "The chat as it is now.", schema: schemaOf("chat") } };

function addEdits(router: Router): void {
  const { throughline, turns, watchers } = router.ports;
  const { chats } = throughline;
  /** Publishes what became of a chat, and answers with it. */
  const changed = async (id: string, change?: "cleared" | "renamed" | "metadata") => {
    if (change !== undefined) watchers.publish("session", { chat_id: id, change });
    return json(await chatView(throughline, turns, id));
  };
  router.post("/api/chats/{id}/clear", {
    id: "clearChat",
    summary: "Start over: messages so far are no longer shown or sent to a model",
    description: "They stay in the log until the chat is forgotten. Its metadata stays too.",
    answers: chatNow,
    answer: async ({ params: { id } }) => {
      await chats.clear(id);
      return changed(id, "cleared");
    },
  });
  router.post("/api/chats/{id}/rename", {
    id: "renameChat",
    body: renameBody,
    summary: "Give a chat a title",
    answers: chatNow,
    answer: async ({ params: { id }, body }) => {
      await chats.rename(id, body.title);
      return changed(id, "renamed");
    },
  });
  router.post("/api/chats/{id}/metadata", {
    id: "setChatMetadata",
    body: metadataBody,
    summary: "Replace the metadata of a chat",
    answers: chatNow,
    answer: async ({ params: { id }, body }) => {
      // Whether it is an object is checked where it is stored.
      await chats.setMetadata(id, body.metadata as JsonObject);
      return changed(id, "metadata");
    },
  });
  router.post("/api/chats/{id}/compact", {
    id: "compactChat",
    body: compactBody,
    summary: "Give models a summary of the beginning of a chat, or record that you made one",
    answers: chatNow,
    answer: async ({ params: { id }, body }) => {
      const { last_consolidated: count, up_to_seq, summary = "" } = body;
      const isSummed = (up_to_seq ?? body.summary) !== undefined;
      await chats.changeExisting(id, (transaction) => {
        if (isSummed) compactIn(transaction, up_to_seq ?? 0, summary);
        if (count !== undefined) consolidateIn(transaction, count);
      });
      return changed(id);
    },
  });
}

function addFork(router: Router): void {
  const { throughline, watchers } = router.ports;
  router.post("/api/chats/{id}/fork", {
    id: "forkChat",
    body: forkBody,
    summary: "Copy a chat, up to and including one message, into a new chat",
    description:
      "Cleared and taken-back messages are not copied, and neither are provider sessions; of several " +
      "replies to a message the shown one is copied, or `message_id` itself. Both chats name each other: see " +
      "`forked_from` and `branches`. A repeated request is 409: the new chat exists.",
    answers: { 201: { says: "The new chat.", schema: schemaOf("chatRow") } },
    answer: async ({ params, body }) => {
      const row = await throughline.chats.fork(params.id, body.message_id, body.chat_id);
      watchers.publish("session", { chat_id: body.chat_id, change: "forked" });
      const response = json(row, 201);
      response.headers.set("location", `/api/chats/${encodeURIComponent(body.chat_id)}`);
      return response;
    },
  });
}

async function chatView({ chats, sessions }: Throughline, turns: Turns, id: string) {
  const row = await chats.row(id);
  const { head } = await chats.existing(id);
  const opened = await sessions.active(id);
  const { chat_id, provider, model, created_at, last_active, generation } = row;
  const none = { session_id: "", message_count: 0, total_cost_usd: 0, total_tokens: 0 };
  const empty = { provider_sessions: {}, ...none };
  const { origin, branches } = await linksOf(chats, id, head);
  const open = head.open_turn === undefined ? [] : [head.open_turn.id];
  return {
    ...(opened ?? { chat_id, provider, model, created_at, last_active, generation, ...empty }),
    title: row.title,
    messages_total: row.message_count,
    metadata: head.metadata,
    last_consolidated: Math.max(0, head.last_consolidated - (head.cleared_count ?? 0)),
    damaged: row.damaged,
    running: await turns.isRunning(id),
    unanswered_ids: [...open, ...(head.pending ?? [])],
    row,
    forked_from: origin,
    branches,
  };
}

/** What `if_exists=true` answers where there is no such chat. */
export const noSuchChat = { says: "There is no such chat, and `if_exists` is `true`." } as const;

/** Answers 204 in place of 404, for a client that asks whether a chat was begun. */
export async function ifThere(
  ifExists: "true" | "false" | undefined,
  answer: () => Promise<Response>,
): Promise<Response> {
  try {
    return await answer();
  } catch (error) {
    const isMissing = isThroughlineError(error, "THROUGHLINE_NOT_FOUND");
    if (ifExists !== "true" || !isMissing) throw error;
    return new Response(null, { status: 204 });
  }
}
