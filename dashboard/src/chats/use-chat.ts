import {
  type UseMutationResult,
  type UseQueryResult,
  useMutation,
  useQuery,
} from "@tanstack/react-query";
import { chatPath, queryClient, request } from "../api/client.ts";
import { useServerEvent } from "../api/events.ts";
import type { Chat, ServerEvents } from "../api/openapi-types.ts";

/** The query of a chat; `null`: it has no message yet, or was forgotten. */
export function chatQuery(chatId: string) {
  return {
    queryKey: ["chat", chatId] as const,
    queryFn: async ({ signal }: { readonly signal: AbortSignal }) => {
      const path = `${chatPath(chatId)}?if_exists=true`;
      return (await request<Chat | undefined>(path, { signal })) ?? null;
    },
  };
}

/** One chat, kept up to date if `useFreshChats` is called too. */
export function useChat(chatId: string): UseQueryResult<Chat | null> {
  return useQuery(chatQuery(chatId));
}

/** Loads a chat again as soon as it has changed. */
export function useFreshChats(): void {
  const changed = ({ chat_id: chatId }: ServerEvents["turn" | "session"]) => {
    void queryClient.invalidateQueries({ queryKey: chatQuery(chatId).queryKey });
  };
  useServerEvent("turn", changed);
  useServerEvent("session", changed);
}

/** A change to a chat; afterwards all chats are loaded again. */
export function useChatChange<Value, Result>(
  change: (value: Value) => Promise<Result>,
  done: (result: Result) => void,
): UseMutationResult<Result, Error, Value> {
  return useMutation({
    mutationFn: change,
    onSuccess(result) {
      void queryClient.invalidateQueries({ queryKey: ["chats"] });
      void queryClient.invalidateQueries({ queryKey: ["chat"] });
      done(result);
    },
  });
}
