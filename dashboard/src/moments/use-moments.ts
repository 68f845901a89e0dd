import { useMutation, useQuery } from "@tanstack/react-query";
import { chatPath, isMissing, queryClient, request, usePages } from "../api/client.ts";
import { useServerEvent } from "../api/events.ts";
import type {
  Buffers,
  DeletedPackages,
  MessageReaction,
  PackageContent,
  PackageList,
  PackageStatus,
  Preservation,
  ReactionsOfChat,
  Verification,
} from "../api/openapi-types.ts";
import { leftInWords } from "./words.ts";

const momentsKey = ["moments"] as const;
export const statsKey = [...momentsKey, "stats"] as const;

/** The path of a moment. */
export function momentPath(name: string): string {
  return `/api/feedback/${encodeURIComponent(name)}`;
}

/** What the buffers hold and where moments go; `null` where no moments are kept. */
export function useMomentStats() {
  return useQuery({
    queryKey: statsKey,
    queryFn: async ({ signal }) => {
      try {
        return await request<Buffers>("/api/feedback/stats", { signal });
      } catch (error) {
        if (isMissing(error)) return null;
        throw error;
      }
    },
  });
}

/** Keeps the numbers up to date, for every view. */
export function useLiveBuffers(): void {
  useServerEvent("buffers", (buffers) => queryClient.setQueryData(statsKey, buffers));
}

/** Whether moments are kept here; not until that is known. */
export function useHasMoments(): boolean {
  const { data } = useMomentStats();
  return data !== undefined && data !== null;
}

/** The reaction that each message of a chat has, as they are now. */
export function useReactions(chatId: string): readonly MessageReaction[] {
  const { data } = useQuery({
    queryKey: [...momentsKey, "reactions", chatId],
    queryFn: ({ signal }) => {
      return request<ReactionsOfChat>(`${chatPath(chatId)}/reactions`, { signal });
    },
    enabled: useHasMoments(),
  });
  return data?.reactions ?? [];
}

/** What is looked for among the moments; "" and `false` look for nothing. */
export interface MomentFilter {
  readonly words: string;
  readonly sentiment: "" | "positive" | "negative";
  readonly hasMedia: boolean;
  readonly isPreserved: boolean;
}

export const noFilter: MomentFilter = {
  words: "",
  sentiment: "",
  hasMedia: false,
  isPreserved: false,
};

/** The moments that are looked for, page by page, the newest first, as they are now. */
export function useMoments({ words, sentiment, hasMedia, isPreserved }: MomentFilter) {
  useServerEvent("feedback", () => void refreshMoments());
  const wanted = {
    query: words.trim(),
    sentiment,
    media: hasMedia ? "true" : "",
    preserved: isPreserved ? "true" : "",
  };
  const given = Object.entries(wanted).filter(([, value]) => value !== "");
  const query = { limit: "20", ...Object.fromEntries(given) };
  const list = usePages<PackageList>([...momentsKey, "list", query], "/api/feedback", query);
  return {
    list,
    entries: list.data?.pages.flatMap(({ packages }) => packages) ?? [],
    isFiltered: given.length > 0,
  };
}

/** One moment with its messages. */
export function useMoment(name: string) {
  return useQuery({
    queryKey: [...momentsKey, "one", name],
    queryFn: ({ signal }) => request<PackageContent>(momentPath(name), { signal }),
  });
}

/** Preserves a moment, or stops preserving it. */
export function usePreserve(name: string) {
  return useMutation({
    mutationFn: (preserved: boolean) => {
      const body: Preservation = { preserved };
      return request<PackageStatus>(`${momentPath(name)}/preserve`, { method: "POST", body });
    },
    onSuccess: refreshMoments,
  });
}

/** Compares a moment with its seal. */
export function useVerify(name: string) {
  return useMutation({
    mutationFn: () => request<Verification>(`${momentPath(name)}/verify`, { method: "POST" }),
  });
}

/** Retracts a reaction, with a reason or without. */
export function useRetract(name: string, done: () => void) {
  return useMutation({
    mutationFn: (reason: string) => {
      const body = { reason: reason === "" ? undefined : reason };
      return request<PackageContent>(`${momentPath(name)}/retract`, { method: "POST", body });
    },
    onSuccess: async () => {
      await refreshMoments();
      done();
    },
  });
}

/**
 * Deletes a moment, wherever it is. `done` is called before anything is asked for again, and not as
 * long as some of it may be left: `data` then says so.
 */
export function useDelete(name: string, done: () => void) {
  return useMutation({
    mutationFn: async () => {
      return leftInWords(await request<DeletedPackages>(momentPath(name), { method: "DELETE" }));
    },
    onSuccess: (left) => {
      if (left !== "") return;
      done();
      queryClient.removeQueries({ queryKey: [...momentsKey, "one", name] });
      void queryClient.invalidateQueries({ queryKey: [...momentsKey, "list"] });
      void queryClient.invalidateQueries({ queryKey: statsKey });
    },
  });
}

export function refreshMoments(): Promise<void> {
  return queryClient.invalidateQueries({ queryKey: momentsKey });
}
