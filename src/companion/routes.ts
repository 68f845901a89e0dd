// What the companion adds to the server: its restart, its feelings, and whom it saw.
import type { ServerFeature } from "../server/options.ts";
import type { Router } from "../server/router.ts";
import { addClientRoutes, publishInjects } from "./routes/client-routes.ts";
import { addCompanionRoutes, companionWrites } from "./routes/companion-routes.ts";
import { type CompanionRun, feelingView, type OnPat, personView } from "./routes/companion-view.ts";
import { addFactsRoutes } from "./routes/facts-routes.ts";
import { addTouchRoute } from "./routes/touch-route.ts";

export type { CompanionRun, OnPat } from "./routes/companion-view.ts";

/**
 * The companion over HTTP, for `createServer`.
 *
 * @param onPat records a long pat, where something does.
 */
export function companionRoutes(run: CompanionRun, onPat: OnPat = () => undefined): ServerFeature {
  return (router: Router) => {
    const { watchers } = router.ports;
    const { companion } = run;
    const addWrite = companionWrites(router);
    addCompanionRoutes(router, run, addWrite);
    addTouchRoute(router, run, addWrite, onPat);
    addClientRoutes(router, companion, addWrite);
    if (run.facts !== undefined) addFactsRoutes(router, run.facts);
    router.describeEvents(async () => (await import("./routes/answer-schemas.ts")).events);
    const injects = publishInjects(router, companion);
    // Every server of a companion knows by itself how it feels.
    const stop = companion.onChange((change) => {
      if (change.type === "emotions") {
        watchers.publishHere("emotions", feelingView(companion, change.feeling));
      } else if (change.type === "person") {
        watchers.publishHere("person", personView(change.person));
      } else if (change.type === "sleep") {
        watchers.publishHere("sleep", { sleep_state: change.state });
      } else if (change.type === "acknowledged") {
        watchers.publishHere("restart", { chat_id: change.chatId, status: "delivered" });
      }
    });
    return () => {
      stop();
      injects();
    };
  };
}
