// The chats that were opened on this page. A few are kept, so that going back is instant.

import { signedOut } from "../../api/client.ts";
import { inSight, onOpen } from "../../api/events.ts";
import { useStore } from "../../api/store.ts";
import { chatsWithDrafts } from "./drafts.ts";
import { Feed } from "./feed.ts";
import type { FeedState } from "./feed-state.ts";

const maxFeeds = 6;
const feeds = new Map<string, Feed>();

/** The feed of a chat: the same one while it is among the last few. */
export function feedOf(chatId: string): Feed {
  const feed = feeds.get(chatId) ?? new Feed(chatId);
  feeds.delete(chatId);
  feeds.set(chatId, feed);
  for (const [id, each] of feeds) {
    if (feeds.size <= maxFeeds) break;
    if (each === feed || each.isBusy) continue;
    each.end();
    feeds.delete(id);
  }
  return feed;
}

export function useFeedState(feed: Feed): FeedState {
  return useStore(feed.store);
}

function loadAll(): void {
  for (const feed of feeds.values()) if (feed.state.status !== "loading") void feed.load();
}

// A chat with drafts is followed too: its events may change them.
for (const chatId of chatsWithDrafts()) feedOf(chatId);
onOpen(loadAll);
signedOut.subscribe(loadAll);
inSight.subscribe(() => {
  for (const feed of feeds.values()) void feed.followRunning().catch(() => undefined); // as in Feed
});
