// The way to a message that a search found, through as many older pages as lie between.
import type { MessagePlace } from "../../shell/routes.ts";
import type { Feed } from "./feed.ts";
import { isShown } from "./feed-state.ts";

/**
 * `there`: the feed has it, and it is shown. `gone`: removed, cleared or replaced since. `far`: too
 * much lies between. `failed`: a page on the way did not come.
 */
export type Outcome = "there" | "gone" | "far" | "failed";

/** The most that a server gives at once. */
const maxPage = 1_000;
/** How many more are read, so that there is something above it. */
const above = 50;
/** A message further back is not looked for: everything up to it would have to be held here. */
const maxBack = 50_000;

/**
 * Reads older pages until a message is among those of the feed, with a little above it. The numbers of
 * a chat have no gaps, so that they tell how much there is to be read at most.
 *
 * @returns the outcome; `undefined` after an abort.
 */
export async function findMessage(
  feed: Feed,
  { id, seq }: MessagePlace,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  for (;;) {
    await untilRead(feed, signal);
    if (signal.aborted) return undefined;
    const { before } = feed.state;
    if (before === undefined || before <= seq - above) return found(feed, id) ?? "gone";
    if (before - seq > maxBack) return "far";
    await feed.loadOlder(Math.min(before - seq + above, maxPage));
    if (feed.state.older === "failed") return found(feed, id) ?? "failed";
  }
}

/** `undefined`: the feed does not have the message. */
function found(feed: Feed, id: string): Outcome | undefined {
  const message = feed.state.messages.findLast((each) => each.id === id);
  if (message === undefined) return undefined;
  return isShown(message) && message.redacted !== true ? "there" : "gone";
}

/** Waits until the feed is read, and no older page is on its way. */
function untilRead(feed: Feed, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  function look(): void {
    const { status, older } = feed.state;
    if (signal.aborted || (status === "ready" && older !== "loading")) resolve();
  }
  const leave = feed.store.subscribe(look);
  signal.addEventListener("abort", look, { once: true });
  look();
  return promise.finally(() => {
    leave();
    signal.removeEventListener("abort", look);
  });
}
