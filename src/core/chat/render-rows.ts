import { invalid } from "../errors.ts";
import { shownModel } from "../models/model-name.ts";
import type { StoredRecord } from "../storage/log-store.ts";
import { attachmentsOf } from "./attachments.ts";
import { type Attachment, isControl, isMessage, type StoredMessage } from "./message.ts";
import { printable, printableLine } from "./printable.ts";
import { isKnownZone } from "./reset-day.ts";
import { instantOf, stampOf } from "./stamp.ts";

/** Records oldest first; read once, one at a time. */
export type Records = Iterable<StoredRecord> | AsyncIterable<StoredRecord>;

/** What a rendering is of. */
export interface RenderedChat {
  readonly key: string;
  readonly title?: string | undefined;
  /** IANA name of the zone that days and times are told in. @default "UTC" */
  readonly zone?: string | undefined;
  /** The bytes of a file of the chat, for a format that holds them; `undefined`: they are not there. */
  readonly readFile?: ((sha256: string) => Promise<Uint8Array | undefined>) | undefined;
}

/** The names of roles. */
export const speakers = {
  user: "User",
  assistant: "Assistant",
  tool: "Tool",
  system: "System",
} as const;

/** A line of a rendering. All text in it is safe to print, none of it is escaped for a format. */
export type RenderRow =
  | { readonly kind: "day"; readonly day: string }
  | { readonly kind: "note"; readonly note: string }
  | {
      readonly kind: "message";
      readonly role: StoredMessage["role"];
      /** The model that wrote it, the tool, or the person of a group. */
      readonly by: string;
      /** Time of day; empty when it is not known. */
      readonly time: string;
      /** ISO 8601, UTC; empty when it is not known. */
      readonly at: string;
      readonly marks: readonly string[];
      /** What the model thought before it wrote this. */
      readonly reasoning: string;
      readonly text: string;
      readonly calls: readonly { readonly name: string; readonly arguments: string }[];
      /** Its files: how each is named, and what is known of it where its bytes may be stored. */
      readonly files: readonly { readonly label: string; readonly file: Attachment | undefined }[];
    };

/**
 * The log as a person reads it, in order and in bounded memory.
 *
 * @param zone IANA name of the zone that days and times are told in.
 * @param showsHidden announcements, commands and markers are in it.
 * @throws ThroughlineError `THROUGHLINE_INVALID`: there is no such zone.
 */
export async function* renderRows(
  records: Records,
  zone = "UTC",
  showsHidden = false,
): AsyncGenerator<RenderRow> {
  const clock = localClock(zone);
  let day = "";
  for await (const record of records) {
    if (isControl(record, "clear")) yield { kind: "note", note: "history cleared here" };
    if (isControl(record, "erased")) yield { kind: "note", note: "erased here" };
    if (!isMessage(record)) continue;
    if (record.hidden === true && !showsHidden) continue;
    const local = clock(record.timestamp);
    if (local !== undefined && local.day !== day) {
      day = local.day;
      yield { kind: "day", day };
    }
    yield {
      kind: "message",
      role: record.role,
      by: byWhom(record),
      time: local?.time ?? "",
      at: local?.at ?? "",
      marks: marksOf(record),
      reasoning: printable(record.reasoning_content ?? ""),
      text: printable(record.content),
      calls: callsOf(record),
      files: filesOf(record),
    };
  }
}

/** The model, the person of a group, or the tool. */
function byWhom({ role, provider, model, name }: StoredMessage): string {
  if (role === "system") return "";
  if (role === "assistant" && provider === "offline") return shownModel({ provider, model: "" });
  const parts = role === "assistant" ? [provider, model] : [name];
  return parts.flatMap((part) => (part === undefined ? [] : [printableLine(part)])).join("/");
}

function marksOf(message: StoredMessage): readonly string[] {
  const { redacted, hidden, partial, partial_reason: reason, is_error } = message;
  const cut = reason === undefined ? "partial" : `partial: ${reason}`;
  return [
    redacted === true ? "redacted" : "",
    hidden === true ? "hidden" : "",
    partial === true ? cut : "",
    is_error === true ? "error" : "",
  ].filter((mark) => mark !== "");
}

function callsOf({ tool_calls: calls = [] }: StoredMessage) {
  return calls.map(({ function: { name, arguments: given } }) => {
    return { name: printableLine(name), arguments: printable(given) };
  });
}

function filesOf({ attachments = [] }: StoredMessage) {
  return attachments.map((file) => {
    // An import may name files of which no more is known.
    const { name, size }: { readonly name?: unknown; readonly size?: unknown } = file;
    const bytes = Number.isSafeInteger(size) ? ` (${String(size)} bytes)` : "";
    const label = `${printableLine(String(name ?? ""))}${bytes}`;
    return { label, file: attachmentsOf({ attachments: [file] })[0] };
  });
}

interface LocalTime {
  readonly day: string;
  readonly time: string;
  readonly at: string;
}

function localClock(zone: string): (timestamp: unknown) => LocalTime | undefined {
  if (!isKnownZone(zone)) throw invalid(`there is no time zone ${JSON.stringify(zone)}`);
  const format = new Intl.DateTimeFormat("en-GB", {
    timeZone: zone,
    hourCycle: "h23",
    dateStyle: "full",
    timeStyle: "medium",
  });
  return (timestamp) => {
    const at = instantOf(timestamp);
    if (at === undefined) return undefined;
    const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, value]));
    const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? "";
    return {
      day: `${part("weekday")}, ${part("day")} ${part("month")} ${part("year")}`,
      time: `${part("hour")}:${part("minute")}:${part("second")}`,
      at: stampOf(at),
    };
  };
}
