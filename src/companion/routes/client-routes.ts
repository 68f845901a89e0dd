// Programs that are not the server and have a model of their own, such as a robot: their runs, and what their
// model is to hear.
import { json, type Router } from "../../server/router.ts";
import type { ClientRun, Inject } from "../client-runs.ts";
import type { Companion } from "../companion.ts";
import { injectionText, throttled } from "../conversation/injector.ts";
import type { AddWrite } from "./companion-routes.ts";
import { clientView } from "./companion-view.ts";
import { answer, clientBody, deliveredBody, injectBody } from "./schemas.ts";

export function addClientRoutes(router: Router, companion: Companion, addWrite: AddWrite): void {
  const { clients } = companion;
  const answers = answer("The client's run.", "clientRun");
  addWrite(
    {
      path: "/api/session",
      id: "beginClientRun",
      body: clientBody,
      summary: "Begin a run of a program with a model of its own",
      description:
        "An open run of this name has crashed. The time away is that since its last heartbeat, or its end. " +
        "`text` is what the model is to hear: see `GET /api/restart`. The run survives the server.",
      answers,
    },
    async ({ client }) => {
      const begun = clientView(companion, await clients.begin(client));
      return { ...begun, text: (await clients.restartText(client)).text };
    },
  );
  router.put("/api/session/heartbeat", {
    id: "beatClientRun",
    body: clientBody,
    summary: "Report that a client lives: every 10 s",
    description: "409: its run has ended. 404: it never began one.",
    answers,
    answer: async ({ body }) => json(clientView(companion, await clients.heartbeat(body.client))),
  });
  addWrite(
    {
      path: "/api/session/end",
      id: "endClientRun",
      body: clientBody,
      summary: "End a client's run in order, with what its model is still to hear",
      answers,
    },
    async ({ client }) => clientView(companion, await clients.end(client)),
  );
  addWrite(
    {
      path: "/api/inject",
      id: "inject",
      body: injectBody,
      summary: "Have a client's model hear a text",
      description:
        "It comes as an `inject` event, with what else comes within 3 s. It is kept until it is reported as " +
        "heard or the run ends, also when the server dies; at most 20. 409: the run has ended.",
      answers,
    },
    async ({ client, text }) => clientView(companion, await clients.inject(client, text)),
  );
  addWrite(
    {
      path: "/api/restart/delivered",
      id: "restartDelivered",
      body: deliveredBody,
      summary: "Report that a model heard the text of `GET /api/restart`, or `inject` events",
      description:
        "The chats that the text is made of are not told of the restart once more: those to which the " +
        "client appended in its last run, or without `client` all of them. Can be repeated.",
      answers: answer("Those chats.", "restartDelivered"),
    },
    async ({ client, id }) => {
      const isInject = client !== undefined && id !== undefined;
      const chats = isInject ? [] : await clients.delivered(client);
      if (isInject) await clients.heard(client, id);
      return { status: "delivered", chats };
    },
  );
}

/**
 * Publishes what clients are to hear: at most every 3 s, and for each all that came since. A new listener, and
 * no other, gets again what was published and not reported as heard.
 *
 * @returns what ends it.
 */
export function publishInjects({ ports }: Router, companion: Companion): () => void {
  const { clock, watchers, throughline } = ports;
  /** The id of the last text that was published, by client. */
  const sent = new Map<string, string>();
  const eventOf = (client: string, items: readonly Inject[]) => {
    return { client, id: items.at(-1)?.id ?? "", text: injectionText(items, clock.now()) };
  };
  /** What was published to a client, and what was not. */
  const parted = ({ client, injects }: ClientRun) => {
    const next = injects.findIndex(({ id }) => id === sent.get(client)) + 1;
    return [injects.slice(0, next), injects.slice(next)] as const;
  };
  const throttle = throttled({ clock, timers: throughline.ports.timers }, () => {
    let hasSent = false;
    for (const run of watchers.hasListeners ? companion.clients.allOpen : []) {
      const [, items] = parted(run);
      if (items.length === 0) continue;
      const event = eventOf(run.client, items);
      watchers.publishHere("inject", event);
      sent.set(run.client, event.id);
      hasSent = true;
    }
    return hasSent;
  });
  const ends = [
    companion.onChange(({ type }) => type === "injects" && throttle.look()),
    watchers.onListen((stream) => {
      for (const run of companion.clients.allOpen) {
        const [items] = parted(run);
        if (items.length > 0) stream.send("inject", eventOf(run.client, items));
      }
      throttle.look();
    }),
  ];
  return () => {
    for (const end of ends) end();
    throttle.close();
  };
}
