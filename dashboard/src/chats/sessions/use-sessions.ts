import { useQueries } from "@tanstack/react-query";
import { queryClient, usePages } from "../../api/client.ts";
import { useServerEvent } from "../../api/events.ts";
import type { Chat, ChatList, ChatListRow } from "../../api/openapi-types.ts";
import { chatQuery, useFreshChats } from "../use-chat.ts";

const listKey = ["chats", "sessions"] as const;

export interface SessionRow {
  readonly row: ChatListRow;
  /** Absent until it is loaded, and when it cannot be. */
  readonly chat: Chat | undefined;
  readonly isPending: boolean;
  readonly error: Error | null;
  readonly retry: () => void;
}

/** The chats with their sessions, page by page, the one talked in last first. */
export function useSessions() {
  useFreshChats();
  useServerEvent("session", refresh);
  useServerEvent("turn", ({ state }) => {
    if (state !== "running") refresh();
  });
  // Each chat is asked for by itself: so many at a time are soon there.
  const list = usePages<ChatList>(listKey, "/api/chats", { limit: "20" });
  // A chat that was talked in between two pages is on both.
  const rows = new Map(list.data?.pages.flatMap(({ chats }) => chats.map((c) => [c.chat_id, c])));
  const details = useQueries({ queries: [...rows.keys()].map(chatQuery) });
  const sessions = [...rows.values()].map((row, index): SessionRow => {
    const detail = details[index];
    return {
      row,
      chat: detail?.data ?? undefined,
      isPending: detail?.isPending === true,
      error: detail?.error ?? null,
      retry: () => void detail?.refetch(),
    };
  });
  return { list, sessions };
}

function refresh(): void {
  void queryClient.invalidateQueries({ queryKey: listKey });
}
