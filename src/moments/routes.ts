// What moments add to the server: reactions, packages, and the way in for pictures and sound.
import type { ServerFeature } from "../server/options.ts";
import type { Router } from "../server/router.ts";
import type { Moments } from "./moments.ts";
import { addFeedbackRoutes } from "./routes/feedback-routes.ts";
import { addMediaRoutes } from "./routes/media-routes.ts";
import { type BufferState, MediaSockets } from "./routes/media-sockets.ts";

/** Moments over HTTP, for `createServer`. */
export function momentsRoutes(moments: Moments): ServerFeature {
  return (router: Router) => {
    const { watchers, clock } = router.ports;
    const tell = (state: BufferState) => watchers.publishHere("buffers", state);
    const media = new MediaSockets(moments, clock, tell);
    addMediaRoutes(router, moments, media);
    addFeedbackRoutes(router, moments, media);
    router.describeEvents(async () => (await import("./routes/answer-schemas.ts")).events);
    const endFeedback = moments.onEvent((event) => watchers.publish("feedback", event));
    return () => {
      endFeedback();
      media.end();
    };
  };
}
