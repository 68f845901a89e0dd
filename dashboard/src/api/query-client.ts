import { QueryClient } from "@tanstack/react-query";
import { isPassing } from "./client.ts";

/** What was asked for last. Events say when it is old, so nothing is asked for at intervals. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // The server is on this machine more often than not: a browser that is offline reaches it.
      networkMode: "always",
      staleTime: 15_000,
      retry: (count, error) => count < 2 && isPassing(error),
      refetchOnWindowFocus: false,
    },
    mutations: { networkMode: "always" },
  },
});
