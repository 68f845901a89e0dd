import { notFound } from "../core/chat/chat-log.ts";
import { bucketOf } from "../core/chat/period.ts";
import { chatView } from "./chat-routes.ts";
import { json, type Router } from "./router.ts";
import {
  chatParams,
  compactBody,
  consolidatedBody,
  resolveBody,
  schemaOf,
  usageBody,
} from "./schemas.ts";

/** For an agent that calls its own model: its provider's session, and what it summarised. */
export function addSessionRoutes(router: Router): void {
  addSession(router);
  addSummaries(router);
}

function addSession(router: Router): void {
  const { chats, sessions } = router.ports.throughline;
  /** Finds what usage is counted in. */
  const partOf = async (chatId: string, provider?: string) => {
    const { session } = (await chats.existing(chatId)).head;
    if (session === null) throw notFound(chatId, "session");
    return { session, part: bucketOf(session, provider ?? session.provider) };
  };
  router.add(
    {
      method: "post",
      path: "/api/chats/{id}/session/resolve",
      id: "resolveSession",
      params: chatParams,
      body: resolveBody,
      summary: "Get the session to go on in, and what the provider can resume",
      description:
        "Opens a session, or begins another one where a rule ends it; creates the chat on first use. The chat runs on this " +
        "provider and model from then on. Beginning a turn does this too.",
      answers: { 200: { says: "The session.", schema: schemaOf("resolved") } },
    },
    async ({ params, body }) => {
      const { period, isNew, ...rest } = await sessions.resolve(params.id, body);
      const { part } = await partOf(params.id, period.provider);
      const { session_id } = period;
      const bucket_generation = part.generation;
      return json({ session: period, session_id, is_new: isNew, bucket_generation, ...rest });
    },
  );
  router.add(
    {
      method: "post",
      path: "/api/chats/{id}/session/usage",
      id: "updateSession",
      params: chatParams,
      body: usageBody,
      summary: "Count what an answer used that no turn made",
      description: "Ending a turn does this too. 404: the chat has no session; resolve it first.",
      answers: { 200: { says: "The totals now.", schema: schemaOf("usageCounted") } },
    },
    async ({ params, body }) => {
      const { session, part } = await partOf(params.id, body.provider);
      const { id, provider, model } = body;
      const counted = await sessions.update(params.id, {
        ...(id === undefined ? {} : { id }),
        turn: "",
        outcome: "answered",
        provider: provider ?? session.provider,
        model: model ?? session.model,
        messages: body.messages ?? 1,
        tokens: body.tokens ?? 0,
        cost_usd: body.cost_usd === undefined ? 0 : body.cost_usd,
        session_id: body.session_id,
        generation: body.generation ?? session.generation,
        bucket_generation: body.bucket_generation ?? part.generation,
      });
      return json({ counted, session: await sessions.active(params.id) });
    },
  );
}

function addSummaries(router: Router): void {
  const { throughline, turns } = router.ports;
  const { chats } = throughline;
  const answers = { 200: { says: "The chat as it is now.", schema: schemaOf("chat") } };
  router.add(
    {
      method: "post",
      path: "/api/chats/{id}/consolidated",
      id: "setConsolidated",
      params: chatParams,
      body: consolidatedBody,
      summary: "Record how many messages of a chat you have summarised elsewhere",
      description: "Shortens no history: `POST …/compact` does, with a summary.",
      answers,
    },
    async ({ params, body }) => {
      await chats.setConsolidated(params.id, body.last_consolidated);
      return json(await chatView(throughline, turns, params.id));
    },
  );
  router.add(
    {
      method: "post",
      path: "/api/chats/{id}/compact",
      id: "compactChat",
      params: chatParams,
      body: compactBody,
      summary: "Give models a summary in place of the beginning of a chat",
      description: "People see the whole chat as before. The newest summary counts.",
      answers,
    },
    async ({ params, body }) => {
      await chats.compact(params.id, body.up_to_seq, body.summary);
      return json(await chatView(throughline, turns, params.id));
    },
  );
}
