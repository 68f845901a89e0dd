import { type UseQueryResult, useQuery, useQueryClient } from "@tanstack/react-query";
import { chatPath, request } from "../api/client.ts";
import { useServerEvent } from "../api/events.ts";
import type { Chat, ServerEvents } from "../api/openapi-types.ts";

/** How a chat's session is asked for. */
export function chatQuery(chatId: string) {
  return {
    // Below the chat's own key: what makes that old makes this old.
    queryKey: ["chat", chatId, "session"] as const,
    queryFn: ({ signal }: { readonly signal: AbortSignal }) =>
      request<Chat>(chatPath(chatId), { signal }),
  };
}

/** One chat with its session, as it is now if `useFreshChats` is called too. */
export function useChat(chatId: string): UseQueryResult<Chat> {
  return useQuery(chatQuery(chatId));
}

/** Asks again for a chat as soon as something of it has changed. */
export function useFreshChats(): void {
  const client = useQueryClient();
  const changed = ({ chat_id: chatId }: ServerEvents["turn" | "session"]) => {
    void client.invalidateQueries({ queryKey: chatQuery(chatId).queryKey });
  };
  useServerEvent("turn", changed);
  useServerEvent("session", changed);
}
