import { invalid } from "../errors.ts";
import { sha256 } from "../sha256.ts";
import { isLongerThan } from "../storage/key.ts";
import { logLimits, type StoredRecord } from "../storage/log-store.ts";
import { isControl } from "./message.ts";

/** How the ids begin of our records about one message, or of one attempt. */
const prefixes = {
  pending_input: "pending:",
  replacement: "replaced:",
  removal: "removal:",
  erasure: "erasure:",
  usage: "usage:",
  retry: "retry:",
  part: "part:",
  compaction: "compaction:",
} as const;

const isOurs = new RegExp(`^(?:${Object.values(prefixes).join("|")})`);

/** The records that hide the message which their `target` names. A replacement may show it again. */
export const hidingKinds = ["replacement", "removal"] as const;
/** The records about one message, which is their `target`. */
export const markKinds = [...hidingKinds, "erasure"] as const;
export type MarkKind = (typeof markKinds)[number];

/** The id of the message that a record hides from models and search for good, if it hides one. */
export function hiddenBy(record: StoredRecord): string | undefined {
  const { target } = record;
  return isControl(record, "removal") && typeof target === "string" ? target : undefined;
}

/**
 * The id of the record of this kind about something: the same every time, so that one is enough.
 *
 * @param n another one than the first, where the ids before it are taken.
 */
export function controlId(kind: keyof typeof prefixes, about: string, n = 1): string {
  const prefix = prefixes[kind];
  const id = n === 1 ? `${prefix}${about}` : `${prefix}${about}~${n}`;
  if (!isLongerThan(id, logLimits.idBytes)) return id;
  return `${prefix}${sha256(id).toString("hex")}`;
}

/** Whether an id begins as those of our own records do: no message may have it. */
export function isControlId(id: string): boolean {
  return isOurs.test(id);
}

/** @throws ThroughlineError `THROUGHLINE_INVALID`: the id is one that only a record of ours may have. */
export function checkMessageId(id: unknown): void {
  if (typeof id !== "string" || !isControlId(id)) return;
  const taken = Object.values(prefixes).join(", ");
  throw invalid(`the id of a message must not begin with one of ${taken}`);
}
