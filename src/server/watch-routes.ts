import { disconnect, isHead, json, type Router } from "./router.ts";
import { schemaOf } from "./schemas.ts";
import { eventHeaders, eventResponse } from "./sse.ts";

/** What happens now: everything as events, and the working memories. */
export function addWatchRoutes(router: Router): void {
  const { throughline, watchers } = router.ports;
  router.describeEvents(async () => (await import("./event-schemas.ts")).events);
  router.add(
    {
      method: "get",
      path: "/api/events",
      id: "watchEvents",
      summary: "Follow everything that happens from now on, in all chats",
      description:
        "Server-sent events: the schema `ServerEvents` has the name and the data of each. Nothing is sent " +
        "again after a break: read the chat instead. A reader that is too slow is disconnected.",
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
      summary: "Read the working memories, the latest chat first",
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
