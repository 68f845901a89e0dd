import { MIMEType } from "node:util";
import { z } from "zod";
import { attachmentBounds, attachmentLimits, type GivenFile } from "../core/chat/attachments.ts";
import { invalid, isThroughlineError, ThroughlineError } from "../core/errors.ts";
import { type Json, parseJson, tooLarge } from "../core/json.ts";
import { isDecodable } from "./guard.ts";

/** Reads what a client sent as what the route takes. @throws ThroughlineError `THROUGHLINE_INVALID`. */
export function parseInput<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  where: string,
): z.output<Schema> {
  const parsed = schema.safeParse(value, { error: wordsOf });
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.slice(0, 5).map(({ path, message }) => {
    return `${path.map(String).join(".") || where}: ${message}`;
  });
  throw invalid(lines.join("; "));
}

/**
 * The parameters of a query, each at most once.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`: twice the same name, a broken percent-encoding.
 */
export function queryOf(url: URL): Record<string, string> {
  if (!isDecodable(url.search)) throw invalid("the query is not well encoded");
  const pairs = [...url.searchParams];
  const names = new Set(pairs.map(([name]) => name));
  if (names.size < pairs.length) throw invalid("a query parameter comes at most once");
  return Object.fromEntries(pairs);
}

/** One type, and one that no form of another site can send. */
const jsonType = /^application\/json(\s*;\s*charset\s*=\s*"?utf-8"?)?\s*$/i;

/** The bytes of a body, as they come. */
type Body = AsyncIterable<Uint8Array> | null;

/**
 * The JSON of a request's body; `{}` when it has none.
 *
 * @param body where the bytes are read, if not from the request.
 * @throws ThroughlineError `THROUGHLINE_MEDIA_TYPE`: the content type is not JSON, or it is encoded.
 * @throws ThroughlineError `THROUGHLINE_TOO_LARGE`: more bytes than `maxBytes`, too deep.
 * @throws ThroughlineError `THROUGHLINE_INVALID`: not UTF-8, not JSON, cut off.
 */
export async function readJson(
  request: Request,
  maxBytes: number,
  body: Body = request.body,
): Promise<Json> {
  if (!jsonType.test(request.headers.get("content-type") ?? "")) {
    throw wrongType("this route takes application/json");
  }
  assertFits(request, maxBytes);
  const text = decode(await readBytes(request, body, maxBytes));
  return text === "" ? {} : parseJson(text, "the body");
}

const formType = /^multipart\/form-data\s*;/i;

export function isForm(request: Request): boolean {
  return formType.test(request.headers.get("content-type") ?? "");
}

/**
 * The fields of a form, and the files in its parts that are called `file`. A page of another site can send
 * forms too: what keeps them out is that its origin is refused.
 *
 * @param textBytes how long the body may be beside the bytes that a message's files may have.
 * @throws ThroughlineError `THROUGHLINE_MEDIA_TYPE`, `THROUGHLINE_TOO_LARGE`, `THROUGHLINE_INVALID`: see
 *   `readJson`; a field that comes twice, a file under another name, or that is no file.
 */
export async function readForm(
  request: Request,
  textBytes: number,
  body: Body = request.body,
): Promise<{ readonly fields: Record<string, string>; readonly files: readonly GivenFile[] }> {
  const maxBytes = attachmentLimits.bytes + textBytes;
  assertFits(request, maxBytes, attachmentBounds);
  const bytes = await readBytes(request, body, maxBytes, attachmentBounds);
  const type = request.headers.get("content-type") ?? "";
  const fields: Record<string, string> = {};
  const files: GivenFile[] = [];
  for (const [name, value] of await formOf(bytes, type)) {
    if (typeof value !== "string") {
      if (name !== "file") throw invalid("a file is in a part that is called file");
      files.push({ name: value.name, type: value.type, bytes: await value.bytes() });
      if (files.length > attachmentLimits.files) throw tooLarge(attachmentBounds);
      continue;
    }
    if (name === "file") throw invalid("a part that is called file needs a file name");
    if (Object.hasOwn(fields, name)) throw invalid(`the field ${name} comes at most once`);
    // Browsers send every line break of a form as CRLF.
    const text = value.replaceAll("\r\n", "\n");
    Object.defineProperty(fields, name, { value: text, enumerable: true });
  }
  return { fields, files };
}

/** More than any message has. Very many parts, or long headers of one, would take seconds to parse. */
const maxParts = 32;
const maxPartHeaders = 8_192;

async function formOf(bytes: Buffer, type: string): Promise<FormData> {
  if (isSlowToParse(bytes, type)) throw tooLarge(attachmentBounds);
  try {
    // The bytes are a part of a pool's, or not: what is parsed is a copy either way.
    return await new Response(new Uint8Array(bytes), {
      headers: { "content-type": type },
    }).formData();
  } catch (cause) {
    throw invalid("the body is no whole form", cause);
  }
}

function isSlowToParse(bytes: Buffer, type: string): boolean {
  const boundary = boundaryIn(type);
  if (boundary === undefined) throw invalid("the content type names no boundary");
  let parts = 0;
  for (let at = 0; at >= 0 && parts <= maxParts; parts++) {
    const from = bytes.subarray(at, at + boundary.length + maxPartHeaders);
    if (from.length > maxPartHeaders && !from.includes("\r\n\r\n")) return true;
    at = bytes.indexOf(boundary, at + 1);
  }
  return parts > maxParts;
}

/** What stands before each part but the first. `undefined`: the type names none. */
function boundaryIn(type: string): string | undefined {
  try {
    const named = new MIMEType(type).params.get("boundary");
    return named === null ? undefined : `\r\n--${named}`;
  } catch {
    return undefined; // not a type: the parser says so
  }
}

/**
 * The bytes of a request's body.
 *
 * @param types the content types that are taken: never one that a form of another site can send.
 * @throws ThroughlineError `THROUGHLINE_MEDIA_TYPE`, `THROUGHLINE_TOO_LARGE`, `THROUGHLINE_INVALID`.
 */
export async function readMedia(
  request: Request,
  types: readonly string[],
  maxBytes: number,
): Promise<Buffer> {
  const [given = ""] = (request.headers.get("content-type") ?? "").split(";", 1);
  if (!types.includes(given.trim().toLowerCase())) {
    throw wrongType(`this route takes ${types.join(" or ")}`);
  }
  return readBytes(request, request.body, maxBytes);
}

/**
 * Counts as it reads: a chunked body does not say how long it is.
 *
 * @throws ThroughlineError `THROUGHLINE_MEDIA_TYPE`: the bytes are compressed; none are decoded here.
 */
async function readBytes(
  request: Request,
  body: Body,
  maxBytes: number,
  bounds = boundsOf(maxBytes),
): Promise<Buffer> {
  const encoding = request.headers.get("content-encoding")?.trim().toLowerCase() ?? "";
  if (encoding !== "" && encoding !== "identity") {
    throw wrongType("a body is taken as it is, without a Content-Encoding");
  }
  const held = arriving.get(request);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body ?? []) {
      bytes += chunk.byteLength;
      if (bytes > maxBytes) throw tooLarge(bounds);
      held?.add(chunk.byteLength);
      chunks.push(chunk);
    }
  } catch (cause) {
    throw isThroughlineError(cause) ? cause : invalid("the body broke off", cause);
  }
  return Buffer.concat(chunks);
}

/** Refuses by the length that a client announces, before any of it is read. Media comes from clients that send first. */
function assertFits({ headers }: Request, maxBytes: number, bounds = boundsOf(maxBytes)): void {
  if (Number(headers.get("content-length") ?? 0) > maxBytes) throw tooLarge(bounds);
}

const boundsOf = (maxBytes: number): string => `a body has at most ${maxBytes} bytes`;

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw invalid("the body is not UTF-8", cause);
  }
}

function wrongType(message: string): ThroughlineError {
  return new ThroughlineError(message, { code: "THROUGHLINE_MEDIA_TYPE" });
}

const types: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};

/** What is wanted, in our words where a schema has none of its own; never the value. */
function wordsOf(issue: z.core.$ZodRawIssue): string | undefined {
  const { code, inst } = issue;
  if (code === "unrecognized_keys") {
    const known = inst instanceof z.ZodObject ? Object.keys(inst.shape) : [];
    const names = issue.keys.slice(0, 5).map((key) => JSON.stringify(key.slice(0, 40)));
    const all = known.length === 0 ? "it takes none" : `the fields are ${known.join(", ")}`;
    return `unknown field ${names.join(", ")}; ${all}`;
  }
  if (code === "invalid_value") return `must be ${issue.values.map(String).join(" or ")}`;
  if (issue.input === undefined) return "is missing";
  if (code === "invalid_type") return `must be ${types[issue.expected] ?? issue.expected}`;
  if (code === "invalid_format") return "has another form than is wanted";
  if (code !== "too_small" && code !== "too_big") return undefined;
  const isLeast = code === "too_small";
  const within = isLeast ? "at least" : "at most";
  const beyond = isLeast ? "more than" : "less than";
  const bound = issue.inclusive === false ? beyond : within;
  const count = isLeast ? issue.minimum : issue.maximum;
  const unit = issue.origin === "string" ? (count === 1 ? " character" : " characters") : "";
  return `must be ${bound} ${count}${unit}`;
}

/** Bytes that all requests together may hold at a moment. */
export class Budget {
  #left: number;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  /** Begins what one request holds. `add` throws `THROUGHLINE_BUSY` if all together would hold more. */
  hold() {
    let held = 0;
    const add = (bytes: number) => {
      if (bytes > this.#left) {
        const message = "the server holds as much as it may for other requests: try again";
        throw new ThroughlineError(message, { code: "THROUGHLINE_BUSY" });
      }
      this.#left -= bytes;
      held += bytes;
    };
    const release = () => {
      this.#left += held;
      held = 0;
    };
    return { add, release };
  }
}

/** What is held for the body of each request that arrives. */
export const arriving = new WeakMap<Request, ReturnType<Budget["hold"]>>();
