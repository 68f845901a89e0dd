import { type UseMutationResult, useMutation } from "@tanstack/react-query";
import { queryClient } from "../api/query-client.ts";

/** A change to a chat; afterwards what was read of chats is read again. */
export function useChatChange<Value, Result>(
  change: (value: Value) => Promise<Result>,
  done?: (result: Result, value: Value) => void,
): UseMutationResult<Result, Error, Value> {
  return useMutation({
    mutationFn: change,
    onSuccess(result, value) {
      void queryClient.invalidateQueries({ queryKey: ["chats"] });
      void queryClient.invalidateQueries({ queryKey: ["chat"] });
      done?.(result, value);
    },
  });
}
