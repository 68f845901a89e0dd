// What LangGraph's configuration says of a thread, its namespace and a checkpoint: else `THROUGHLINE_INVALID`.
import { aText, checkArgument } from "../../core/options.ts";
import { checkKey } from "../../core/storage/key.ts";
import { logLimits } from "../../core/storage/log-store.ts";
import type { Config } from "./langgraph-types.ts";

export function threadOf(config: Config): string {
  const id: unknown = config?.configurable?.["thread_id"];
  checkThread(id);
  return id;
}

export function checkThread(id: unknown): asserts id is string {
  checkKey(id, "configurable.thread_id", logLimits.keyBytes);
}

export function namespaceOf(config: Config): string {
  const ns: unknown = config.configurable?.["checkpoint_ns"] ?? "";
  checkArgument(ns, "configurable.checkpoint_ns", aText);
  return ns as string;
}

/** @returns `undefined` where none is named. */
export function checkpointOf({ configurable }: Config): string | undefined {
  const id: unknown = configurable?.["checkpoint_id"] || configurable?.["thread_ts"] || undefined;
  if (id !== undefined) checkArgument(id, "configurable.checkpoint_id", aText);
  return id as string | undefined;
}
