import { foreignRecord, type Role, roles } from "../core/chat/message.ts";
import { messageRecord } from "../core/chat/message-input.ts";
import { readStamp } from "../core/chat/stamp.ts";
import { isoTime } from "../core/clock.ts";
import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import { refusalOf } from "./import.ts";

interface SeedRecord {
  readonly kind: "message" | "foreign";
  readonly record: JsonObject & { readonly id: string };
  readonly notes: readonly string[];
}

/** What others call our roles. */
const aliases: Readonly<Record<string, Role>> = {
  human: "user",
  ai: "assistant",
  model: "assistant",
  function: "tool",
  developer: "system",
};

/** Names that only we write at the top level of a record. */
const reserved = ["_type", "seq", "kind"];

/**
 * The record for one object of a seed's file. With a role and text it is a message; with a role of
 * ours and no `_type` it is one whatever its content is. What ours has no place for is kept inside
 * `extra`. Everything else is kept whole as a foreign record, which no model is sent.
 *
 * @param zone a known zone, in which stamps without one are read.
 */
export function seedRecord(source: JsonObject, id: string, zone: string): SeedRecord {
  const notes: string[] = [];
  const role = roleOf(source, notes);
  if (role === undefined) return { kind: "foreign", record: foreignRecord(source, id), notes };
  const extra = new Extra(source["extra"]);
  const { role: _, content, timestamp, extra: __, id: ownId, ...rest } = source;
  if (ownId !== undefined && ownId !== id) extra.put("id", ownId);
  if (source["role"] !== role && String(source["role"]).toLowerCase() !== role) {
    extra.put("role", source["role"]);
  }
  const stamp = stampOf(timestamp, zone, extra, notes);
  if (content === undefined || content === null) notes.push("a message without content");
  else if (typeof content !== "string") {
    extra.put("content", content);
    notes.push("content that is not text became text");
  }
  const fields = new Map<string, Json | undefined>();
  for (const [name, given] of Object.entries(rest)) {
    const value = name === "tool_calls" ? toolCalls(given) : given;
    const isField = !reserved.includes(name) && isUsable(role, name, value);
    if (isField) fields.set(name, value);
    else if (given !== null && !reserved.includes(name)) {
      notes.push("a field of a wrong type is kept in extra");
    }
    if (!isField || value !== given) extra.put(name, given);
  }
  // Commands, and what was answered to them: people can see them, and no model.
  if (source["_command"]) fields.set("hidden", true);
  const attachments = mediaAttachments(source["media"]);
  if (attachments !== undefined && !fields.has("attachments")) {
    fields.set("attachments", attachments);
  }
  const kept = extra.fields();
  const message = {
    id,
    role,
    content: contentText(content),
    ...stamp,
    ...Object.fromEntries(fields),
  };
  const record = kept === undefined ? message : { ...message, extra: kept };
  return { kind: "message", record, notes };
}

/** The role of a message; `undefined` for what is none. A message with no known role is shown, and not sent. */
function roleOf({ role: value, content, _type }: JsonObject, notes: string[]): Role | undefined {
  const name = typeof value === "string" ? value.trim().toLowerCase() : "";
  const isText = typeof content === "string";
  // What calls itself something else must at least read like a message.
  const isOther = _type !== undefined && _type !== null;
  if (name === "" || (isOther && !isText)) return undefined;
  const known = roles.find((role) => role === name);
  if (known !== undefined) return known;
  const alias = Object.hasOwn(aliases, name) ? aliases[name] : undefined;
  if (alias !== undefined) notes.push(`the role ${name} became ${alias}`);
  if (alias !== undefined || !isText) return alias;
  notes.push("a role that is none of ours became system");
  return "system";
}

function stampOf(value: Json | undefined, zone: string, extra: Extra, notes: string[]) {
  const stamp = readStamp(value, zone);
  if (stamp === "absent") notes.push("a message without a time");
  if (stamp === "unreadable") {
    extra.put("timestamp", value);
    notes.push("a time that is no date is left empty");
  }
  if (typeof stamp === "string") return { timestamp: "" };
  if (stamp.isZoneAssumed) notes.push(`a time without a zone was read in ${zone}`);
  const timestamp = isoTime(stamp.at);
  return stamp.isZoneAssumed ? { timestamp, tz_assumed: true } : { timestamp };
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

/** What is kept beside a message. Nothing in it is overwritten: a taken name gets a `_` more. */
class Extra {
  readonly #fields: Map<string, Json | undefined>;

  constructor(given: Json | undefined) {
    const fields = isJsonObject(given) || given === undefined ? (given ?? {}) : { extra: given };
    this.#fields = new Map(Object.entries(fields));
  }

  put(name: string, value: Json | undefined): void {
    let free = name;
    while (this.#fields.has(free)) free += "_";
    this.#fields.set(free, value);
  }

  fields(): JsonObject | undefined {
    return this.#fields.size === 0 ? undefined : Object.fromEntries(this.#fields);
  }
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
