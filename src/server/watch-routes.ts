import { z } from "zod";
import { disconnect, json, type Router } from "./router.ts";
import { schemaOf, whole } from "./schemas.ts";
import { eventResponse } from "./sse.ts";

/** What happens now: everything as events, and the working memories. */
export function addWatchRoutes(router: Router): void {
  const { throughline, watchers } = router.ports;
  router.describeEvents(async () => (await import("./event-schemas.ts")).events);
  router.get("/api/events", {
    id: "watchEvents",
    summary: "Follow everything that happens from now on, in all chats",
    description:
      "Server-sent events: the schema `ServerEvents` has the name and the data of each. Only what a " +
      "client is still to hear is sent again after a break: for the rest read the chat. A reader " +
      "that is too slow is disconnected.",
    answers: {
      200: { says: "Server-sent events.", types: ["text/event-stream"] },
    },
    answer: (_, context) => eventResponse(watchers.listen(disconnect(context))),
  });
  router.get("/api/memory", {
    id: "getWorkingMemory",
    summary: "Read the working memories, the latest chat first",
    answers: {
      200: { says: "Counts, and one line of summary each.", schema: schemaOf("memory") },
    },
    answer: () => {
      const { workingMemory } = throughline;
      const chats = workingMemory.stats().map((stats) => {
        return { ...stats, summary: workingMemory.peek(stats.chat_id)?.summary() ?? "" };
      });
      return json({ chats });
    },
  });
  router.get("/api/memory/{id}", {
    id: "getWorkingMemoryOfChat",
    query: () =>
      z.strictObject({ n: whole(0, 1_000).optional().meta({ description: "All when absent." }) }),
    summary: "Read the working memory of one chat, newest first",
    description: "Empty lists where nothing was said since the start, or since the session ended.",
    answers: { 200: { says: "The last `n` turns.", schema: schemaOf("memoryOfChat") } },
    answer: ({ params, query: { n } }) => {
      const memory = throughline.workingMemory.peek(params.id);
      return json({
        chat_id: params.id,
        utterances: memory?.recentUtterances(n) ?? [],
        intents: memory?.recentIntents(n) ?? [],
        responses: memory?.recentResponses(n) ?? [],
        interactions: memory?.all().toReversed().slice(0, n) ?? [],
      });
    },
  });
}
