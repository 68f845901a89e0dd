import { foreignRecord, type Role, roles } from "../core/chat/message.ts";
import { messageRecord, reservedNames } from "../core/chat/message-input.ts";
import { readStamp } from "../core/chat/stamp.ts";
import { isoTime } from "../core/clock.ts";
import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import { refusalOf } from "./import.ts";

interface SeedRecord {
  readonly kind: "message" | "foreign";
  readonly record: JsonObject & { readonly id: string };
  readonly notes: readonly string[];
}

/**
 * The record for one object of a seed's file. With a role and text it is a message; with a role of
 * ours and no `_type` it is one whatever its content is. What ours has no place for is kept inside
 * `extra`. Everything else is kept whole as a foreign record, which no model is sent.
 *
 * @param zone a known zone, in which stamps without one are read.
 */
export function seedRecord(source: JsonObject, id: string, zone: string): SeedRecord {
  const notes: string[] = [];
  const role = roleOf(source);
  if (role === undefined) return { kind: "foreign", record: foreignRecord(source, id), notes };
  const calls = toolCalls(source["tool_calls"]);
  const all: JsonObject = calls === undefined ? source : { ...source, tool_calls: calls };
  const { content, timestamp, extra, id: _, role: __, ...rest } = all;
  const entries = Map.groupBy(Object.entries(rest), ([name, value]) => {
    return !reservedNames.has(name) && isUsable(role, name, value);
  });
  const others = entries.get(false) ?? [];
  const isWrong = ([name, value]: Entry) => value !== null && !reservedNames.has(name);
  if (others.some(isWrong)) notes.push("a field of a wrong type is kept in extra");
  // These are kept as they came.
  const names = others.map(([name]) => name);
  if (calls !== source["tool_calls"]) names.push("tool_calls");
  if (source["id"] !== undefined) names.push("id");
  if (String(source["role"]).trim().toLowerCase() !== role) {
    names.push("role");
    notes.push("a role that is none of ours became system");
  }
  const stamp = readStamp(timestamp, zone);
  if (stamp === "absent") notes.push("a message without a time");
  else if (stamp === "unreadable") {
    names.push("timestamp");
    notes.push("a time that is no date is left empty");
  } else if (stamp.isZoneAssumed) notes.push(`a time without a zone was read in ${zone}`);
  if (content === undefined || content === null) notes.push("a message without content");
  else if (typeof content !== "string") {
    names.push("content");
    notes.push("content that is not text became text");
  }
  const given = isJsonObject(extra) || extra === undefined ? extra : { extra };
  const kept = new Map<string, Json | undefined>(Object.entries(given ?? {}));
  for (const name of new Set(names)) {
    let free = name;
    while (kept.has(free)) free += "_";
    kept.set(free, source[name]);
  }
  const attachments = mediaAttachments(source["media"]);
  const record = {
    id,
    role,
    content: contentText(content),
    timestamp: typeof stamp === "string" ? "" : isoTime(stamp.at),
    ...(typeof stamp === "object" && stamp.isZoneAssumed && { tz_assumed: true }),
    ...(attachments && { attachments }),
    ...Object.fromEntries(entries.get(true) ?? []),
    // Commands, and what was answered to them: people can see them, and no model.
    ...(source["_command"] ? { hidden: true } : {}),
    ...(kept.size > 0 && { extra: Object.fromEntries(kept) }),
  };
  return { kind: "message", record, notes };
}

type Entry = readonly [name: string, value: Json | undefined];

/** The role of a message; `undefined` for what is none. A message with no known role is shown, and not sent. */
function roleOf({ role: value, content, _type }: JsonObject): Role | undefined {
  const name = typeof value === "string" ? value.trim().toLowerCase() : "";
  const isText = typeof content === "string";
  // What calls itself something else must at least read like a message.
  const isOther = _type !== undefined && _type !== null;
  if (name === "" || (isOther && !isText)) return undefined;
  return roles.find((role) => role === name) ?? (isText ? "system" : undefined);
}

/** Arguments as JSON text, as providers and our log have them; some write the object. */
function toolCalls(value: Json | undefined): Json | undefined {
  if (!Array.isArray(value)) return value;
  let isChanged = false;
  const calls = (value as readonly Json[]).map((call) => {
    const fn = isJsonObject(call) ? call["function"] : undefined;
    if (!isJsonObject(call) || !isJsonObject(fn) || !isJsonObject(fn["arguments"])) return call;
    isChanged = true;
    return { ...call, function: { ...fn, arguments: JSON.stringify(fn["arguments"]) } };
  });
  return isChanged ? calls : value;
}

/** Whether this field of a message may be stored as it is. */
function isUsable(role: Role, name: string, value: Json | undefined): boolean {
  const fields = { id: "x", role, content: "", [name]: value };
  const check = () => messageRecord(fields, () => "x", "1970-01-01T00:00:00.000Z");
  return refusalOf(check) === undefined;
}

/**
 * The text of a message's content: as it is, of its parts, or as JSON. No content at all is no text:
 * an assistant message that only calls tools has none.
 */
function contentText(content: Json | undefined): string {
  if (typeof content === "string") return content;
  if (content === undefined || content === null) return "";
  if (!Array.isArray(content)) return JSON.stringify(content);
  const parts = (content as readonly Json[]).map(partText);
  return parts.filter((part) => part !== "").join("\n");
}

/** What else a part may be, by its type: told by name only, as for files of our own. */
function partText(part: Json): string {
  if (typeof part === "string") return part;
  if (!isJsonObject(part)) return JSON.stringify(part);
  if (typeof part["text"] === "string") return part["text"];
  const type = typeof part["type"] === "string" ? part["type"] : "part";
  const media = /image|audio|video|file/.exec(type)?.[0];
  const name = part["name"] ?? part["filename"];
  const suffix = typeof name === "string" ? `: ${name}` : "";
  return media === undefined ? JSON.stringify(part) : `[${media}${suffix}]`;
}

const endings: Readonly<Record<string, readonly string[]>> = {
  image: ["avif", "bmp", "gif", "heic", "jpeg", "jpg", "png", "svg", "tiff", "webp"],
  audio: ["aac", "flac", "m4a", "mp3", "oga", "ogg", "opus", "wav"],
  video: ["avi", "m4v", "mkv", "mov", "mp4", "webm"],
};

/**
 * The files of a message, which nanobot lists by path or address, as attachments: by name only, since
 * nothing else is known of them. What has no ending is an image, as nanobot takes it.
 *
 * @returns `undefined` when there are none.
 */
function mediaAttachments(media: Json | undefined): JsonObject[] | undefined {
  if (!Array.isArray(media)) return undefined;
  const files = media.filter((file) => typeof file === "string" && file !== "") as string[];
  return files.length === 0 ? undefined : files.map(attachment);
}

function attachment(file: string): JsonObject {
  const data = /^data:([\w.+-]+\/[\w.+-]+)?/i.exec(file);
  if (data !== null) return { name: "", type: data[1] ?? "image/*" };
  const isAddress = /^[a-z]+:\/\//i.test(file);
  const [path = ""] = isAddress ? file.split(/[?#]/, 1) : [file];
  const name = path.split(/[/\\]/).at(-1) ?? "";
  return { name, type: typeOf(name) };
}

function typeOf(name: string): string {
  const ending = /\.(\w+)$/.exec(name)?.[1]?.toLowerCase();
  if (ending === undefined) return "image/*";
  const kind = Object.keys(endings).find((each) => endings[each]?.includes(ending));
  return kind === undefined ? "application/octet-stream" : `${kind}/*`;
}
