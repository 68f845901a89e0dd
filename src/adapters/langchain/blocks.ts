// The values of a thread as blocks: records that are named by a hash of what they hold. What is equal is stored
// once, in whatever channel, checkpoint or branch it is.
import { isUtf8 } from "node:buffer";
import type { JsonObject } from "../../core/json.ts";
import { sha256 } from "../../core/sha256.ts";
import { keepText, keptText } from "../../core/storage/kept-value.ts";
import type { LogRecord, StoredRecord } from "../../core/storage/log-store.ts";
import type { Serializer } from "./langgraph.ts";

/** A value: its serialised bytes are in the blocks, one after the other. */
export interface BlockValue extends JsonObject {
  /** What the serialiser called it: `json` or `bytes`, or a name of its own. */
  readonly type: string;
  readonly blocks: readonly string[];
  /** The blocks hold the items of a JSON array, separated by commas. */
  readonly list?: true | undefined;
}

/** Shorter lists are one block. */
const minListBytes = 2_048;

/** The records of blocks that were made, by the ids of their blocks; the long ones have parts before them. */
export type MadeBlocks = Map<string, readonly LogRecord[]>;

/**
 * Serialises a value. Everything is read before this returns its promise: later changes to the value are
 * not seen.
 *
 * A JSON array is cut into blocks at the powers of two of its length: 13 items are 8, 4 and 1. So a list that
 * grows at its end shares all long blocks with the list that it was, and `n` items are read in `log n` blocks.
 *
 * @param isDivisible whether the text of an array is that of its items: so it is with LangGraph's own serialiser.
 */
export async function dumpBlocks(
  serde: Serializer,
  value: unknown,
  made: MadeBlocks,
  isDivisible: boolean,
): Promise<BlockValue> {
  if (Array.isArray(value) && isDivisible) {
    const items = await Promise.all(Array.from(value, (item) => serde.dumpsTyped(item)));
    const texts = items.map(([, bytes]) => textOf(bytes));
    const isJson = items.every(([type]) => type === "json");
    if (isJson && texts.reduce((sum, { length }) => sum + length, 0) >= minListBytes) {
      const blocks = runsOf(texts).map((run) => block(made, { text: run.join(",") }));
      return { type: "json", blocks, list: true };
    }
    if (isJson) return { type: "json", blocks: [block(made, { text: `[${texts.join(",")}]` })] };
  }
  const [type, bytes] = await serde.dumpsTyped(value);
  const buffer = Buffer.from(bytes);
  const isText = isUtf8(buffer);
  const text = isText ? textOf(bytes, type) : buffer.toString("base64");
  return { type, blocks: [block(made, { text, isBase64: isText ? undefined : true })] };
}

/** The value, from its blocks and their parts. @throws ThroughlineError `THROUGHLINE_CORRUPT`: one is missing. */
export function loadBlocks(
  serde: Serializer,
  { type, blocks, list }: BlockValue,
  records: ReadonlyMap<string, StoredRecord>,
): Promise<unknown> {
  const texts = blocks.map((id) => {
    const record: JsonObject = records.get(id) ?? {};
    const text = keptText(record, records);
    return record["base64"] === true ? Buffer.from(text, "base64") : text;
  });
  const [first = ""] = texts;
  const whole = list ? `[${texts.join(",")}]` : first;
  const bytes = typeof whole === "string" ? Buffer.from(whole) : whole;
  return serde.loadsTyped(type, new Uint8Array(bytes)); // bytes come back as they were given, not as a Buffer
}

/** What is no JSON, such as a function, has no text: in a list, JSON has it as `null`. */
function textOf(bytes: Uint8Array, type = "json"): string {
  return bytes.length === 0 && type === "json" ? "null" : Buffer.from(bytes).toString();
}

function block(
  made: MadeBlocks,
  { text, isBase64 }: { readonly text: string; readonly isBase64?: true | undefined },
): string {
  const id = `v:${hashOf(isBase64 ? "base64" : "text", text)}`;
  if (!made.has(id)) {
    const { fields, parts } = keepText(id, text, "a value of a channel");
    made.set(id, [...parts, { ...fields, id, base64: isBase64 }]);
  }
  return id;
}

/** A hash of these texts, and of no others: 192 bits of SHA-256. */
export function hashOf(...texts: readonly string[]): string {
  const whole = texts.map((text) => `${text.length}:${text}`).join("");
  return sha256(whole).subarray(0, 24).toString("base64url");
}

/** Runs of items whose lengths are the powers of two that the number of items is the sum of, longest first. */
function runsOf<T>(items: readonly T[]): readonly (readonly T[])[] {
  const runs: (readonly T[])[] = [];
  for (let start = 0; start < items.length; ) {
    const length = 2 ** Math.floor(Math.log2(items.length - start));
    runs.push(items.slice(start, start + length));
    start += length;
  }
  return runs;
}
