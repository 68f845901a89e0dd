import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { request } from "../../api/client.ts";
import { useServerEvent } from "../../api/events.ts";
import type { ChatList } from "../../api/openapi-types.ts";
import { queryClient } from "../../api/query-client.ts";

export interface ChatFilter {
  /** Words that a message of the chat holds; "": any. */
  readonly query: string;
  readonly unanswered: boolean;
  readonly damaged: boolean;
}

const pageSize = 50;

/** The chats, page by page, the one in which a person acted last first. */
export function useChats(filter: ChatFilter) {
  useServerEvent("turn", refresh);
  useServerEvent("session", refresh);
  useServerEvent("message", (data) => {
    // A title may be words that are hidden now. What is stored is told by its turn.
    if (data.change !== "stored") refresh();
  });
  return useInfiniteQuery({
    queryKey: ["chats", filter],
    queryFn: ({ pageParam, signal }) => {
      return request<ChatList>(`/api/chats?${searchOf(filter, pageParam)}`, { signal });
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.cursor,
    placeholderData: keepPreviousData,
  });
}

function refresh(): void {
  void queryClient.invalidateQueries({ queryKey: ["chats"] });
}

function searchOf(filter: ChatFilter, cursor: string | undefined): string {
  const search = new URLSearchParams({ limit: String(pageSize) });
  if (filter.query !== "") {
    search.set("query", filter.query);
    search.set("prefix", "true");
  }
  if (filter.unanswered) search.set("unanswered", "true");
  if (filter.damaged) search.set("damaged", "true");
  if (cursor !== undefined) search.set("cursor", cursor);
  return search.toString();
}
