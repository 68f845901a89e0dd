// Apart from the current mood, which the first view of the page shows: this is loaded with the view of the mood.
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { request } from "../../api/client.ts";
import type { MoodHistory } from "../../api/openapi-types.ts";
import { serverNow } from "../../api/server-clock.ts";
import type { Range } from "./history-facts.ts";
import { historyKey } from "./use-emotions.ts";

const historyPoints = 300;

/**
 * The history up to the server's now, so that what has just happened is in it. A longer or shorter one replaces it
 * only once it is there.
 */
export function useEmotionHistory(range: Range): UseQueryResult<MoodHistory> {
  return useQuery({
    queryKey: [...historyKey, range.name],
    queryFn: ({ signal }) => {
      const query = `from=${Math.round(serverNow() - range.ms)}&points=${historyPoints}`;
      return request<MoodHistory>(`/api/emotions/history?${query}`, { signal });
    },
    refetchInterval: range.refreshMs,
    placeholderData: (previous) => previous,
  });
}
