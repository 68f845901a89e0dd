import { useMutation, useQuery } from "@tanstack/react-query";
import { isMissing, queryClient, request, usePages } from "../api/client.ts";
import { useServerEvent } from "../api/events.ts";
import type {
  Buffers,
  DeletedPackages,
  PackageContent,
  PackageList,
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

/** The moments, page by page, the newest first, as they are now. */
export function useMoments() {
  useServerEvent("feedback", () => void refreshMoments());
  const list = usePages<PackageList>([...momentsKey, "list"], "/api/feedback", { limit: "20" });
  return { list, entries: list.data?.pages.flatMap(({ packages }) => packages) ?? [] };
}

/** One moment with its messages. */
export function useMoment(name: string) {
  return useQuery({
    queryKey: [...momentsKey, "one", name],
    queryFn: ({ signal }) => request<PackageContent>(momentPath(name), { signal }),
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

function refreshMoments(): Promise<void> {
  return queryClient.invalidateQueries({ queryKey: momentsKey });
}
