// What LangGraph's configuration says of a thread, its namespace and a checkpoint.
import { checkKey } from "../../core/storage/key.ts";
import { logLimits } from "../../core/storage/log-store.ts";
import type { Config } from "./langgraph-types.ts";

/** @throws TypeError there is no such thread. */
export function threadOf(config: Config): string {
  const id: unknown = config.configurable?.["thread_id"];
  checkThread(id);
  return id;
}

/** @throws TypeError the id is not a text of 1 to 1,024 bytes. */
export function checkThread(id: unknown): asserts id is string {
  try {
    checkKey(id, "thread_id", logLimits.keyBytes);
  } catch (cause) {
    const says = `configurable.thread_id must be a string of 1 to ${logLimits.keyBytes} bytes`;
    throw new TypeError(says, { cause });
  }
}

/** @throws TypeError it is no string. */
export function namespaceOf(config: Config): string {
  const ns: unknown = config.configurable?.["checkpoint_ns"] ?? "";
  if (typeof ns === "string") return ns;
  throw new TypeError("configurable.checkpoint_ns must be a string");
}

/** @returns `undefined` where none is named. @throws TypeError it is no string. */
export function checkpointOf(config: Config): string | undefined {
  const { configurable } = config;
  const id: unknown = configurable?.["checkpoint_id"] || configurable?.["thread_ts"] || undefined;
  if (id === undefined || typeof id === "string") return id;
  throw new TypeError("configurable.checkpoint_id must be a string");
}
