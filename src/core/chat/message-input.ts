import { invalid } from "../errors.ts";
import { checkJson, isJsonObject, type Json, type JsonObject } from "../json.ts";
import { checkId } from "../storage/batch.ts";
import { partialReasons, type Role, roles } from "./message.ts";
import { checkPersonName } from "./person-name.ts";
import { instantOf, stampOf } from "./stamp.ts";

/** A message as `append` takes it: our fields checked, the caller's own fields kept as they are. */
export interface AppendInput extends JsonObject {
  /**
   * Makes a repeated append a no-op. Made up when absent. 1 to 256 bytes, and none that only a record of
   * ours may have, such as `removal:…`.
   */
  readonly id?: string | undefined;
  /** In either case. */
  readonly role: Role | Uppercase<Role>;
  readonly content: string;
  /** ISO 8601 with a zone, or seconds since 1970. Now, when absent. */
  readonly timestamp?: string | number | undefined;
  /** Of a user message: who of a group said it. 1 to 200 characters on one line. Of a tool's: the tool. */
  readonly name?: string | undefined;
}

/** The same as it is stored: the role in lower case, the time as text. */
export interface MessageInput extends AppendInput {
  readonly role: Role;
  readonly timestamp?: string | undefined;
}

/** Seconds since 1970 above this are milliseconds: as seconds it is the year 5138. */
const mostSeconds = 1e11;

/** @throws ThroughlineError `THROUGHLINE_INVALID`: the time is a number that is no seconds since 1970. */
export function messageOf(input: AppendInput): MessageInput {
  if (!isJsonObject(input)) return input; // refused with the rest of its checks
  const { role, timestamp } = input as AppendInput;
  const lower = typeof role === "string" ? role.toLowerCase() : role;
  if (typeof timestamp !== "number") {
    return lower === role ? (input as MessageInput) : ({ ...input, role: lower } as MessageInput);
  }
  if (!(Math.abs(timestamp) <= mostSeconds)) {
    throw invalid("message.timestamp must be seconds since 1970; this looks like milliseconds");
  }
  const at = stampOf(Math.round(timestamp * 1_000));
  return { ...input, role: lower, timestamp: at } as MessageInput;
}

/** Fields that mean something to us: what each must be. Everything else is the caller's own. */
const fieldChecks: ReadonlyMap<string, (value: unknown) => boolean> = new Map(
  Object.entries({
    timestamp: isStamp,
    turn: isText,
    provider: isText,
    model: isText,
    partial: (value) => value === true,
    partial_reason: (value) => (partialReasons as readonly unknown[]).includes(value),
    hidden: (value) => value === true,
    synthetic: isText,
    tool_calls: isToolCalls,
    tool_call_id: isText,
    name: isText,
    is_error: (value) => value === true,
    reasoning_content: (value) => typeof value === "string",
    provider_data: isJsonObject,
    attachments: (value) => Array.isArray(value) && value.every(isJsonObject),
    extra: isJsonObject,
    exact: isJsonObject,
  }),
);

/** The names that only we write at the top level of a record. */
const reserved: ReadonlySet<string> = new Set([
  "_type",
  "seq",
  "kind",
  "redacted",
  "replaced",
  "variants",
]);

export interface MessageRecord extends JsonObject {
  readonly id: string;
  readonly seq: number;
  readonly role: Role;
  readonly content: string;
  readonly timestamp: string;
}

/**
 * The record of a message. A caller's fields of `reserved` names go inside `extra`, so that no message
 * can pass for a control record, or for one that is hidden.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`: unknown role, content that is no text, a bad id, a
 *   known field of a wrong type.
 */
export function messageRecord(
  input: unknown,
  newId: () => string,
  at: string,
  seq = 0,
): MessageRecord {
  if (!isJsonObject(input)) throw invalid("a message must be an object");
  const { id, role, content, timestamp = at, extra } = input;
  if (id !== undefined) checkId(id, "message.id");
  if (!isRole(role)) throw invalid(`message.role must be one of ${roles.join(", ")}`);
  if (typeof content !== "string") throw invalid("message.content must be a string");
  const own: Record<string, Json> = {};
  let moved: Record<string, Json> | undefined;
  for (const name of Object.keys(input)) {
    const value = input[name];
    if (value === undefined) continue;
    if (fieldChecks.get(name)?.(value) === false) {
      const wanted = name === "timestamp" ? "must be ISO 8601 with a zone" : "has a wrong type";
      throw invalid(`message.${name} ${wanted}`);
    }
    if (placed.has(name)) continue;
    if (reserved.has(name)) moved = { ...moved, [name]: value };
    else if (name !== "__proto__") own[name] = value;
    // An assignment would set the prototype.
    else Object.defineProperty(own, name, { value, enumerable: true });
  }
  if (role === "user") checkPersonName(input["name"]);
  const record: Record<string, Json> = {
    id: id ?? newId(),
    seq,
    role,
    content,
    timestamp: timestamp === at ? at : new Date(String(timestamp)).toISOString(),
    ...own,
  };
  if (moved !== undefined) record["extra"] = { ...(extra as JsonObject), ...moved };
  else if (extra !== undefined) record["extra"] = extra;
  checkJson(record, "message");
  return record as unknown as MessageRecord;
}

/** The fields with a place of their own in a record. */
const placed: ReadonlySet<string> = new Set(["id", "role", "content", "timestamp", "extra"]);

function isRole(role: unknown): role is Role {
  return (roles as readonly unknown[]).includes(role);
}

/**
 * ISO 8601 with a zone: without one it would be another instant on another machine. A day that there is,
 * in the years 0000 to 9999: a stamp must come back as the instant that was given.
 */
function isStamp(value: unknown): boolean {
  if (typeof value !== "string" || instantOf(value) === undefined) return false;
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/.test(value);
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function isToolCalls(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.every(
      (call) =>
        isJsonObject(call) &&
        isText(call["id"]) &&
        isJsonObject(call["function"]) &&
        isText(call["function"]["name"]) &&
        typeof call["function"]["arguments"] === "string",
    )
  );
}
