import type { LogProjection } from "../storage/log-store.ts";

/** Of logs that are read by their keys alone: neither listed nor searched. */
export const unlisted: LogProjection = {
  sortedAt: () => "",
  labels: () => [],
  text: () => undefined,
  hides: () => undefined,
};
