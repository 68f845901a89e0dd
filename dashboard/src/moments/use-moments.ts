import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { isMissing, request } from "../api/client.ts";
import { useServerEvent } from "../api/events.ts";
import type {
  Buffers,
  DeletedPackages,
  PackageContent,
  PackageList,
  RepairedPackage,
  Verification,
} from "../api/openapi-types.ts";
import { leftInWords } from "./words.ts";

const momentsKey = ["moments"] as const;
const pageSize = 20;

/** Where a package is asked for. */
export function momentPath(name: string): string {
  return `/api/feedback/${encodeURIComponent(name)}`;
}

/** The numbers; `null` where no moments are kept. */
export function useMomentStats() {
  return useQuery({
    queryKey: [...momentsKey, "stats"],
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

/** Keeps the numbers as they are now, for every view: what comes in is shown wherever one is. */
export function useLiveBuffers(): void {
  const client = useQueryClient();
  useServerEvent("buffers", (data) => {
    client.setQueryData([...momentsKey, "stats"], data);
  });
}

/** Whether moments are kept here; not until that is known. */
export function useHasMoments(): boolean {
  const { data } = useMomentStats();
  return data !== undefined && data !== null;
}

/** The packages, page by page, the newest first, as they are now. */
export function useMoments() {
  const client = useQueryClient();
  useServerEvent("feedback", () => void client.invalidateQueries({ queryKey: momentsKey }));
  const list = useInfiniteQuery({
    queryKey: [...momentsKey, "list"],
    queryFn: ({ pageParam, signal }) => {
      const cursor = pageParam === "" ? "" : `&cursor=${encodeURIComponent(pageParam)}`;
      return request<PackageList>(`/api/feedback?limit=${pageSize}${cursor}`, { signal });
    },
    initialPageParam: "",
    getNextPageParam: (page) => page.cursor,
  });
  return { list, entries: list.data?.pages.flatMap(({ packages }) => packages) ?? [] };
}

/** One package with its words. */
export function useMoment(name: string) {
  return useQuery({
    queryKey: [...momentsKey, "one", name],
    queryFn: ({ signal }) => request<PackageContent>(momentPath(name), { signal }),
  });
}

/** Compares a package with its seal. */
export function useVerify(name: string) {
  return useMutation({
    mutationFn: () => request<Verification>(`${momentPath(name)}/verify`, { method: "POST" }),
  });
}

/** Makes a new package of what is right in a damaged one, which is kept aside. */
export function useRepair(name: string, done: () => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () =>
      request<RepairedPackage>(`${momentPath(name)}/repair`, { method: "POST", body: {} }),
    onSuccess: async ({ outcome }) => {
      if (outcome === "not_repaired") return;
      await client.invalidateQueries({ queryKey: momentsKey });
      done();
    },
  });
}

/** Takes a reaction back, with a reason or without. */
export function useRetract(name: string, done: () => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (reason: string) => {
      const body = reason === "" ? {} : { reason };
      return request<PackageContent>(`${momentPath(name)}/retract`, { method: "POST", body });
    },
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: momentsKey });
      done();
    },
  });
}

/**
 * Deletes a package, wherever it is. `done` is called before anything is asked for again, and not as
 * long as some of it may be left: `data` then says so.
 */
export function useDelete(name: string, done: () => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async () => {
      return (
        leftInWords(await request<DeletedPackages>(momentPath(name), { method: "DELETE" })) ?? ""
      );
    },
    onSuccess: (left) => {
      if (left !== "") return;
      done();
      client.removeQueries({ queryKey: [...momentsKey, "one", name] });
      void client.invalidateQueries({ queryKey: [...momentsKey, "list"] });
      void client.invalidateQueries({ queryKey: [...momentsKey, "stats"] });
    },
  });
}
