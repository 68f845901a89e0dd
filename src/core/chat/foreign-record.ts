import { isJsonObject, type JsonObject } from "../json.ts";
import type { StoredRecord } from "../storage/log-store.ts";
import { isControl } from "./message.ts";

/** The id of the record that keeps what of a file's metadata was too large for a head. */
export const leftOverId = "import:head";

/**
 * The record for an object that is no message. It looks like a control record, so that no reader of
 * the format takes it for a message.
 */
export function foreignRecord(
  source: JsonObject,
  id: string,
): JsonObject & { readonly id: string } {
  return { id, _type: "metadata", kind: "foreign", extra: { record: source } };
}

/** The object as it came; `undefined` for every other record. */
export function foreignObject(record: StoredRecord): JsonObject | undefined {
  const extra = isControl(record, "foreign") ? record["extra"] : undefined;
  const source = isJsonObject(extra) ? extra["record"] : undefined;
  return isJsonObject(source) ? source : undefined;
}
