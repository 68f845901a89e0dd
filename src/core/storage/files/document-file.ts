// The bytes of a document: JSON for people, with its revision and CRC as the last fields.
import { isJsonObject, type JsonObject, withNullForNaN } from "../../json.ts";
import { hexCrc } from "./commit.ts";

export interface DecodedDocument {
  readonly value: JsonObject;
  /** 0 for a file that another program wrote: valid JSON without our fields. */
  readonly revision: number;
  /** The key as it was written; absent in a file that another program wrote. */
  readonly key: string | undefined;
}

/** Spaces for each level. */
export const documentIndent = 2;

/** @param valueJson an object, indented. */
export function encodeDocument(key: string, valueJson: string, revision: number): Buffer {
  // Without the last line break and brace.
  const fields = valueJson === "{}" ? "{" : `${valueJson.slice(0, -2)},`;
  const body = Buffer.from(
    `${fields}\n  "_key": ${JSON.stringify(key)},\n  "_revision": ${revision}`,
  );
  return Buffer.concat([body, Buffer.from(`,\n  "_crc": "${hexCrc(body)}"\n}\n`)]);
}

/**
 * `undefined` when the bytes are not a whole document. What another program wrote may hold the numbers
 * that only Python writes: they are read as null.
 */
export function decodeDocument(bytes: Buffer): DecodedDocument | undefined {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined; // torn, or never text: the caller sets the bytes aside
  }
  const plain = parse(text);
  const parsed = plain ?? parse(withNullForNaN(text));
  if (!isJsonObject(parsed)) return undefined;
  const { _key, _revision, _crc, ...value } = parsed;
  if (_key === undefined && _revision === undefined && _crc === undefined) {
    return { value, revision: 0, key: undefined };
  }
  if (plain === undefined) return undefined; // ours never holds such numbers
  const seal = Buffer.from(`,\n  "_crc": "${String(_crc)}"\n}\n`);
  const body = bytes.subarray(0, -seal.length);
  if (!bytes.subarray(-seal.length).equals(seal) || hexCrc(body) !== _crc) return undefined;
  if (typeof _revision !== "number" || typeof _key !== "string") return undefined;
  return { value, revision: _revision, key: _key };
}

/** `undefined`: torn, or never JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // the caller sets the bytes aside
  }
}
