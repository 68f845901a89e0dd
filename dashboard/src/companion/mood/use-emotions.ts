import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { queryClient, request } from "../../api/client.ts";
import { useServerEvent } from "../../api/events.ts";
import type { Emotions } from "../../api/openapi-types.ts";
import type { Feeling } from "./words.ts";

export const emotionsKey = ["emotions", "now"] as const;
export const historyKey = ["emotions", "history"] as const;

/** Levels decay all the time, and events come in steps of 0.05: this loads what is between. */
const betweenEventsMs = 5_000;

const emotionsQuery = {
  queryKey: emotionsKey,
  queryFn: ({ signal }: { readonly signal: AbortSignal }) =>
    request<Emotions>("/api/emotions", { signal }),
};

/** The current mood, kept up to date by events, with the levels between them. */
export function useEmotions(): UseQueryResult<Emotions> {
  useEmotionEvents();
  return useQuery({ ...emotionsQuery, refetchInterval: betweenEventsMs });
}

/** The same without the levels: asked for once, and then events alone change it. */
export function useFeeling(): Feeling | undefined {
  useEmotionEvents();
  return useQuery({ ...emotionsQuery, select: feelingOf }).data;
}

function feelingOf({ mood, mood_cause, sleep_state, wounds }: Emotions): Feeling {
  return { mood, mood_cause, sleep_state, wounds };
}

function useEmotionEvents(): void {
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
}
