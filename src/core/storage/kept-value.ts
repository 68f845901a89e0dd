// Values of any size in a log. A record holds 1 MiB: a longer value is stored in parts, before the record
// that names them. A crash between two parts leaves what the log said before.
import { corrupt, isThroughlineError } from "../errors.ts";
import { checkJson, type Json, type JsonObject, tooLarge } from "../json.ts";
import { sha256 } from "../sha256.ts";
import { appendGroups } from "./batch.ts";
import { exactText, fromExactText } from "./exact-json.ts";
import type { LogRecord, LogStore, StoredRecord } from "./log-store.ts";

export const keptLimits = {
  /** What a record itself holds of a value, in UTF-16 code units of its text; the same in each part. */
  units: 128 * 1024,
  /** The text of one value. */
  textUnits: 128 * 1024 * 1024,
} as const;

/** A value as a record holds it. */
interface Kept {
  /**
   * One of `{ value }`, plain JSON; `{ text }`, what `exactText` made of it; `{ parts }`, the ids of the
   * records that hold that text.
   */
  readonly fields: JsonObject;
  /** To be stored before the record, in the groups of `partGroups`. */
  readonly parts: readonly LogRecord[];
}

/**
 * @param owner the id of the record that is to hold it: parts belong to one record.
 * @param name what error messages call the value.
 * @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_TOO_LARGE`: see `exactText`; also more than
 *   128 Mi characters of text.
 */
export function keepValue(owner: string, value: unknown, name: string): Kept {
  const text = exactText(value, name);
  if (text.length <= keptLimits.units && isPlainJson(value, name)) {
    return { fields: { value }, parts: [] };
  }
  return keepText(owner, text, name);
}

/**
 * The same for a text, which `keptText` gives back.
 *
 * @param most of its units that the record itself holds.
 */
export function keepText(owner: string, text: string, name: string, most?: number): Kept {
  const { units, textUnits } = keptLimits;
  if (text.length <= (most ?? units)) return { fields: { text }, parts: [] };
  if (text.length > textUnits) throw tooLarge(`${name} is longer than ${textUnits} characters`);
  const ids: string[] = [];
  const parts = new Map<string, LogRecord>();
  for (let at = 0; at < text.length; at += units) {
    const part = text.slice(at, at + units);
    // Of the units as they are: a part may end within a character.
    const id = `part:${sha256(Buffer.from(`${owner}\0${part}`, "utf16le")).toString("hex")}`;
    ids.push(id);
    parts.set(id, { id, _type: "metadata", kind: "part", part });
  }
  return { fields: { parts: ids }, parts: [...parts.values()] };
}

/** Parts in the groups of which each fits into one append. */
export function partGroups(parts: readonly LogRecord[]): LogRecord[][] {
  return appendGroups(parts, (part) => part);
}

/** The ids of the parts of what these fields hold. */
export function partIds(fields: JsonObject): readonly string[] {
  const { parts } = fields;
  return Array.isArray(parts) ? parts.filter((id) => typeof id === "string") : [];
}

/**
 * The text that these fields hold.
 *
 * @param parts holds at least the records of `partIds`.
 * @throws ThroughlineError `THROUGHLINE_CORRUPT`: a part is missing, or these fields hold no text.
 */
export function keptText(fields: JsonObject, parts: ReadonlyMap<string, StoredRecord>): string {
  if (typeof fields["text"] === "string") return fields["text"];
  const texts = partIds(fields).map((id) => parts.get(id)?.["part"]);
  if (texts.length === 0 || !texts.every((text) => typeof text === "string")) {
    throw corrupt("a part of a long value is missing");
  }
  return texts.join("");
}

/**
 * The value that these fields hold, equal to what was kept.
 *
 * @throws ThroughlineError `THROUGHLINE_CORRUPT`: a part is missing.
 */
export async function keptValue(
  logs: Pick<LogStore, "findAll">,
  key: string,
  fields: JsonObject,
): Promise<unknown> {
  if (fields["value"] !== undefined) return fields["value"];
  const ids = partIds(fields);
  return fromExactText(
    keptText(fields, ids.length === 0 ? new Map() : await logs.findAll(key, ids)),
  );
}

/** Whether a log keeps this value as it is. */
function isPlainJson(value: unknown, name: string): value is Json {
  try {
    checkJson(value, name);
    return true;
  } catch (error) {
    if (isThroughlineError(error)) return false;
    throw error;
  }
}
