import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { queryClient, request, usePages } from "../../api/client.ts";
import { useServerEvent } from "../../api/events.ts";
import type { ChatList } from "../../api/openapi-types.ts";

export interface ChatFilter {
  /** Words that a message of the chat holds; "": any. */
  readonly query: string;
  readonly unanswered: boolean;
  readonly damaged: boolean;
}

/** The chats, page by page, the one in which a person acted last first. */
export function useChats(filter: ChatFilter) {
  useFreshList();
  return usePages<ChatList>(["chats", filter], "/api/chats", searchOf(filter));
}

/** The newest chats, one page of them; with a query, those that it finds. */
export function useNewestChats(query: string) {
  useFreshList();
  return useQuery({
    queryKey: ["chats", "newest", query],
    queryFn: ({ signal }) => {
      const search = searchOf({ query, unanswered: false, damaged: false });
      return request<ChatList>(`/api/chats?${new URLSearchParams(search)}`, { signal });
    },
    placeholderData: keepPreviousData,
  });
}

/** The words that the rows in sight were found by: those before, until the ones for `query` came. */
export function useFoundBy(query: string, isEarlier: boolean): string {
  const [words, setWords] = useState(query);
  if (!isEarlier && words !== query) setWords(query);
  return words;
}

function useFreshList(): void {
  useServerEvent("turn", refresh);
  useServerEvent("session", refresh);
  useServerEvent("message", ({ change }) => {
    // A hidden message may have been the title. A stored one has an event of its turn.
    if (change !== "stored") refresh();
  });
}

/** What happens within this time is loaded at once: a bot's chats may change many times a second. */
const gatherMs = 150;
let isGathering = false;

function refresh(): void {
  if (isGathering) return;
  isGathering = true;
  setTimeout(() => {
    isGathering = false;
    void queryClient.invalidateQueries({ queryKey: ["chats"] });
  }, gatherMs);
}

function searchOf({ query, unanswered, damaged }: ChatFilter): Readonly<Record<string, string>> {
  const search: Record<string, string> = { limit: "50" };
  if (query !== "") {
    search["query"] = query;
    search["prefix"] = "true";
  }
  if (unanswered) search["unanswered"] = "true";
  if (damaged) search["damaged"] = "true";
  return search;
}
