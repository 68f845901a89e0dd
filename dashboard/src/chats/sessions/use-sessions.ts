import { useInfiniteQuery, useQueries, useQueryClient } from "@tanstack/react-query";
import { request } from "../../api/client.ts";
import { useServerEvent } from "../../api/events.ts";
import type { Chat, ChatList, ChatListRow } from "../../api/openapi-types.ts";
import { chatQuery, useFreshChats } from "../use-chat.ts";

const listKey = ["chats", "sessions"] as const;
/** Each chat is asked for by itself: so many at a time are soon there. */
const pageSize = 20;

export interface SessionRow {
  readonly row: ChatListRow;
  /** Absent until it is there. */
  readonly chat: Chat | undefined;
  readonly error: Error | null;
  readonly retry: () => void;
}

/** The chats with their sessions, page by page, the one talked in last first. */
export function useSessions() {
  const client = useQueryClient();
  useFreshChats();
  useServerEvent("session", () => void client.invalidateQueries({ queryKey: listKey }));
  useServerEvent("turn", (event) => {
    if (event.state === "running") return;
    void client.invalidateQueries({ queryKey: listKey });
  });
  const list = useInfiniteQuery({
    queryKey: listKey,
    queryFn: ({ pageParam, signal }) => {
      const cursor = pageParam === "" ? "" : `&cursor=${encodeURIComponent(pageParam)}`;
      return request<ChatList>(`/api/chats?limit=${pageSize}${cursor}`, { signal });
    },
    initialPageParam: "",
    getNextPageParam: (page) => page.cursor,
  });
  // A chat that was talked in between two pages is on both.
  const rows = new Map(list.data?.pages.flatMap(({ chats }) => chats.map((c) => [c.chat_id, c])));
  const details = useQueries({ queries: [...rows.keys()].map(chatQuery) });
  const sessions = [...rows.values()].map((row, index): SessionRow => {
    const detail = details[index];
    return {
      ...{ row, chat: detail?.data, error: detail?.error ?? null },
      retry: () => void detail?.refetch(),
    };
  });
  return { list, sessions };
}
