import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { queryClient, request } from "../../api/client.ts";
import { useServerEvent } from "../../api/events.ts";
import type { Emotions, MoodHistory } from "../../api/openapi-types.ts";
import { serverNow } from "../../api/server-clock.ts";
import { chartStart, knownSince, type Range, ranges } from "./history-facts.ts";

export const emotionsKey = ["emotions", "now"] as const;
export const historyKey = ["emotions", "history"] as const;

/** Levels decay all the time, and events come in steps of 0.05: this loads what is between. */
const betweenEventsMs = 5_000;
const historyPoints = 300;
const fewestPoints = 10;

/** The current mood, kept up to date by events. */
export function useEmotions(): UseQueryResult<Emotions> {
  useServerEvent("emotions", (changed) => {
    const known = queryClient.getQueryData<Emotions>(emotionsKey);
    if (known === undefined) return;
    queryClient.setQueryData<Emotions>(emotionsKey, { ...known, ...changed });
    // A level on its way changes every few seconds: only a turn of events is drawn at once.
    const isTurn = known.mood !== changed.mood || known.wounds.length !== changed.wounds.length;
    if (isTurn) void queryClient.invalidateQueries({ queryKey: historyKey });
  });
  useServerEvent("sleep", (changed) => {
    const known = queryClient.getQueryState<Emotions>(emotionsKey);
    if (known?.data === undefined) return;
    // The ages of wounds stay as old as they are.
    const { data, dataUpdatedAt: updatedAt } = known;
    queryClient.setQueryData<Emotions>(emotionsKey, { ...data, ...changed }, { updatedAt });
  });
  return useQuery({
    queryKey: emotionsKey,
    queryFn: ({ signal }) => request<Emotions>("/api/emotions", { signal }),
    refetchInterval: betweenEventsMs,
  });
}

/** The history up to now. A longer or shorter one replaces it only once it is there. */
export function useEmotionHistory(
  range: Range,
  since: number | undefined,
): UseQueryResult<MoodHistory> {
  return useQuery({
    queryKey: [...historyKey, range.name],
    queryFn: ({ signal }) => {
      const from = chartStart(range, since, serverNow());
      return history(from, historyPoints, signal);
    },
    refetchInterval: range.refreshMs,
    placeholderData: (previous) => previous,
  });
}

/** When the first run within the longest range was up; `null`: none was. */
export function useKnownSince(): UseQueryResult<number | null> {
  return useQuery({
    queryKey: ["emotions", "since"],
    queryFn: async ({ signal }) => {
      const from = serverNow() - ranges[3].ms;
      return knownSince(await history(from, fewestPoints, signal)) ?? null;
    },
    // Only the beginning is asked for.
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** Up to the server's now, so that what has just happened is in it. */
function history(from: number, points: number, signal: AbortSignal) {
  const query = `from=${Math.round(from)}&points=${points}`;
  return request<MoodHistory>(`/api/emotions/history?${query}`, { signal });
}
