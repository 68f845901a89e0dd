import { silentLogger } from "../../core/logger.ts";
import type { Throughline } from "../../core/throughline.ts";
import { relayEvents } from "../../server/cluster-events.ts";
import { Watchers } from "../../server/events.ts";

/**
 * The pages at the servers of a database. What a command changes is published to them as a server does,
 * in its words. Best effort, and before the memories are closed. Beside a home no server runs.
 */
export function pagesOf({
  storage,
  chats,
}: Throughline): Pick<Watchers, "publish" | "publishTurn"> {
  const watchers = new Watchers(0, { maxBytes: 0, keepAliveMs: 0 });
  relayEvents(storage.cluster, { watchers, chats, logger: silentLogger });
  return watchers;
}
