import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { queryClient, request } from "../api/client.ts";
import { useServerEvent } from "../api/events.ts";
import type { CompanionRun, Restart, ServerEvents } from "../api/openapi-types.ts";

export const runKey = ["companion", "session"] as const;
export const restartKey = ["companion", "restart"] as const;

/** The current run: how it started, and which person was seen last. */
export function useCompanionRun(): UseQueryResult<CompanionRun> {
  const take = (changed: ServerEvents["person"] | ServerEvents["sleep"]) =>
    queryClient.setQueryData<CompanionRun>(runKey, (known) => known && { ...known, ...changed });
  useServerEvent("person", take);
  useServerEvent("sleep", take);
  return useQuery({
    queryKey: runKey,
    queryFn: ({ signal }) => request<CompanionRun>("/api/session", { signal }),
  });
}

/** The restart, and what each chat's model was told about it, or would be told now. */
export function useRestart(): UseQueryResult<Restart> {
  const again = () => void queryClient.invalidateQueries({ queryKey: restartKey });
  useServerEvent("restart", again);
  useServerEvent("session", again);
  return useQuery({
    queryKey: restartKey,
    queryFn: ({ signal }) => request<Restart>("/api/restart", { signal }),
  });
}
