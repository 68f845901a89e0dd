// Apart from the current mood, which the first view of the page shows: this is loaded with the view of the mood.
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { request } from "../../api/client.ts";
import type { MoodHistory } from "../../api/openapi-types.ts";
import { serverNow } from "../../api/server-clock.ts";
import { chartStart, knownSince, type Range, ranges } from "./history-facts.ts";
import { historyKey } from "./use-emotions.ts";

const historyPoints = 300;
const fewestPoints = 10;

export type RangedHistory = MoodHistory & { readonly range: Range };

/** The history up to now. A longer or shorter one replaces it only once it is there. */
export function useEmotionHistory(
  range: Range,
  since: number | undefined,
): UseQueryResult<RangedHistory> {
  return useQuery({
    queryKey: [...historyKey, range.name],
    queryFn: async ({ signal }) => {
      const from = chartStart(range, since, serverNow());
      return { ...(await history(from, historyPoints, signal)), range };
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
