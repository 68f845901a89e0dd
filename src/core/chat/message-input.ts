import { invalid } from "../errors.ts";
import { checkJson, isJsonObject, type Json, type JsonObject, tooLarge } from "../json.ts";
import { fitting, is, list, object, type Shape, text, word } from "../shape.ts";
import { checkId } from "../storage/batch.ts";
import { isLongerThan } from "../storage/key.ts";
import { logLimits } from "../storage/log-store.ts";
import { partialReasons, type Role, roles, type StoredMessage } from "./message.ts";
import { checkPersonName } from "./person-name.ts";
import { instantOf, stampOf } from "./stamp.ts";

/** A message as `append` takes it: our fields checked, the caller's own fields kept as they are. */
export interface MessageInput extends JsonObject {
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

/** Seconds since 1970 above this are milliseconds: as seconds it is the year 5138. */
const mostSeconds = 1e11;

const someText = fitting((value) => typeof value === "string" && value !== "", "must be text", "");
const yes = fitting((value) => value === true, "must be true", true);
const anObject = fitting(isJsonObject, "must be an object", {});
export const toolCall = object(
  { id: someText, function: object({ name: someText, arguments: text() }, "left out") },
  "left out",
);

/** Fields that mean something to us. Everything else is the caller's own. */
const fields: ReadonlyMap<string, Shape<unknown>> = new Map<string, Shape<never>>(
  Object.entries({
    turn: someText,
    provider: someText,
    model: someText,
    partial: yes,
    partial_reason: word(partialReasons),
    hidden: yes,
    synthetic: someText,
    tool_calls: list(toolCall),
    tool_call_id: someText,
    name: someText,
    is_error: yes,
    reasoning_content: text(),
    provider_data: anObject,
    attachments: list(anObject),
    extra: anObject,
    exact: anObject,
  }) as [string, Shape<never>][],
);

/** The names that only we write at the top level of a record. */
export const reservedNames: ReadonlySet<string> = new Set([
  "_type",
  "seq",
  "kind",
  "redacted",
  "replaced",
  "variants",
]);
/** The fields with a place of their own in a record. */
const placed: ReadonlySet<string> = new Set(["id", "role", "content", "timestamp", "extra"]);

/** Reads a role, in either case. */
export function roleOf(message: unknown): unknown {
  const role: unknown = isJsonObject(message) ? message["role"] : undefined;
  return typeof role === "string" ? role.toLowerCase() : role;
}

/**
 * Makes the record of a message. A caller's fields of `reservedNames` go inside `extra`, so that no message
 * can pass for a control record, or for one that is hidden.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`: unknown role, content that is no text, a bad id, a
 *   known field of a wrong type. `THROUGHLINE_TOO_LARGE`.
 */
export function messageRecord(
  input: unknown,
  newId: () => string,
  at: string,
  seq = 0,
): StoredMessage {
  if (!isJsonObject(input)) throw invalid("a message must be an object");
  const { id, content, timestamp, extra } = input;
  if (id !== undefined) checkId(id, "message.id");
  const role = roles.find((each) => each === roleOf(input));
  if (role === undefined) throw invalid(`message.role must be one of ${roles.join(", ")}`);
  if (typeof content !== "string") throw invalid("message.content must be a string");
  if (isLongerThan(content, logLimits.recordBytes)) {
    throw tooLarge(`the message is longer than ${logLimits.recordBytes} bytes`);
  }
  if (role === "user") checkPersonName(input["name"]);
  const record: Record<string, Json> = {
    id: id ?? newId(),
    seq,
    role,
    content,
    timestamp: timestamp === undefined ? at : stampIn(timestamp),
  };
  let moved: JsonObject | undefined;
  for (const name of Object.keys(input)) {
    const value = input[name];
    if (value === undefined) continue;
    const shape = fields.get(name);
    if (shape !== undefined && !is(shape, value)) throw invalid(`message.${name} has a wrong type`);
    if (placed.has(name)) continue;
    if (reservedNames.has(name)) moved = { ...moved, [name]: value };
    else if (name !== "__proto__") record[name] = value;
    // An assignment would set the prototype.
    else Object.defineProperty(record, name, { value, enumerable: true });
  }
  if (moved !== undefined) record["extra"] = { ...(extra as JsonObject), ...moved };
  else if (extra !== undefined) record["extra"] = extra;
  checkJson(record, "message");
  return record as unknown as StoredMessage;
}

/**
 * Reads when something was said: seconds since 1970, or ISO 8601 with a zone. Without one it would be another
 * instant on another machine.
 */
function stampIn(value: unknown): string {
  if (typeof value === "number") {
    if (Math.abs(value) <= mostSeconds) return stampOf(Math.round(value * 1_000));
    throw invalid("message.timestamp must be seconds since 1970; this looks like milliseconds");
  }
  const at = typeof value === "string" && /^[^ tz,]+$/.test(value) ? instantOf(value) : undefined;
  if (at === undefined) throw invalid("message.timestamp must be ISO 8601 with a zone");
  return stampOf(at);
}
