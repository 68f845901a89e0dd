import { queryClient, usePages } from "../../api/client.ts";
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
  useServerEvent("turn", refresh);
  useServerEvent("session", refresh);
  useServerEvent("message", ({ change }) => {
    // A hidden message may have been the title. A stored one has an event of its turn.
    if (change !== "stored") refresh();
  });
  return usePages<ChatList>(["chats", filter], "/api/chats", searchOf(filter));
}

function refresh(): void {
  void queryClient.invalidateQueries({ queryKey: ["chats"] });
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
