// The bytes of a document: JSON for people, with its revision and CRC as the last fields.
import { crc32 } from "node:zlib";
import { isJsonObject, type JsonObject } from "../../json.ts";

export interface DecodedDocument {
  readonly value: JsonObject;
  /** 0 for a file that another program wrote: valid JSON without our fields. */
  readonly revision: number;
  /** The key as it was written; absent in a file that another program wrote. */
  readonly key: string | undefined;
}

export function encodeDocument(key: string, valueJson: string, revision: number): Buffer {
  const value = JSON.parse(valueJson) as JsonObject;
  const text = JSON.stringify({ ...value, _key: key, _revision: revision }, undefined, 2);
  const body = Buffer.from(text.slice(0, -2)); // without the last line break and brace
  return Buffer.concat([body, Buffer.from(`,\n  "_crc": "${hexCrc(body)}"\n}\n`)]);
}

/** `undefined` when the bytes are not a whole document. */
export function decodeDocument(bytes: Buffer): DecodedDocument | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return undefined; // torn, or never JSON: the caller sets the bytes aside
  }
  if (!isJsonObject(parsed)) return undefined;
  const { _key, _revision, _crc, ...value } = parsed;
  if (_key === undefined && _revision === undefined && _crc === undefined) {
    return { value, revision: 0, key: undefined };
  }
  const seal = Buffer.from(`,\n  "_crc": "${String(_crc)}"\n}\n`);
  const body = bytes.subarray(0, -seal.length);
  if (!bytes.subarray(-seal.length).equals(seal) || hexCrc(body) !== _crc) return undefined;
  if (typeof _revision !== "number" || typeof _key !== "string") return undefined;
  return { value, revision: _revision, key: _key };
}

function hexCrc(bytes: Buffer): string {
  return crc32(bytes).toString(16).padStart(8, "0");
}
