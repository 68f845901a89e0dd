import { disconnect, isHead, json, type Router } from "./router.ts";
import { schemaOf } from "./schemas.ts";
import { eventHeaders, eventResponse } from "./sse.ts";

/** What goes on now: everything as events, and the working memories. */
export function addWatchRoutes(router: Router): void {
  const { throughline, watchers } = router.ports;
  router.describeEvents(async () => (await import("./event-schemas.ts")).events);
  router.add(
    {
      method: "get",
      path: "/api/events",
      id: "watchEvents",
      summary: "Everything that happens from now on, in all chats",
      description:
        "Server-sent events: the schema `ServerEvents` has the name and the data of each. Nothing is sent " +
        "again after a break: read the chat instead. A reader that is too slow is dropped.",
      answers: {
        200: { says: "Server-sent events.", types: ["text/event-stream"] },
      },
    },
    (_, context) => {
      return isHead(context)
        ? new Response(null, { headers: eventHeaders })
        : eventResponse(watchers.listen(disconnect(context)));
    },
  );
  router.add(
    {
      method: "get",
      path: "/api/memory",
      id: "getWorkingMemory",
      summary: "What was just said, chat by chat, the one talked in last first",
      answers: {
        200: { says: "Counts, and one line of summary each.", schema: schemaOf("memory") },
      },
    },
    () => {
      const { workingMemory } = throughline;
      const chats = workingMemory.stats().map((stats) => {
        return { ...stats, summary: workingMemory.peek(stats.chat_id)?.summary() ?? "" };
      });
      return json({ chats });
    },
  );
}
