// JSON that tells when a bit of it flipped: its last member, on a line of its own, is the CRC-32 of
// every byte before that line. For what is beside a package's manifest: the intent, the spill.
import { crc32 } from "node:zlib";

const seal = /^ {2}"crc32": "([0-9a-f]{8})"\n\}\n$/;
const sealBytes = Buffer.byteLength('  "crc32": "00000000"\n}\n');

/** An object as UTF-8, indented by 2, lone surrogates as escapes, sealed. */
export function sealJson(value: object): Buffer {
  const text = JSON.stringify(value, undefined, 2);
  const body = Buffer.from(`${text.slice(0, -2)},\n`);
  return Buffer.concat([body, Buffer.from(`  "crc32": "${hexOf(crc32(body))}"\n}\n`)]);
}

/** The object without its seal; `undefined` for bytes that are not as they were written. */
export function openSealedJson(bytes: Uint8Array): unknown {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const body = buffer.subarray(0, -sealBytes);
  const [, crc] = seal.exec(buffer.subarray(-sealBytes).toString("latin1")) ?? [];
  if (crc === undefined || crc !== hexOf(crc32(body))) return undefined;
  const { crc32: _, ...value } = JSON.parse(buffer.toString("utf8")) as { crc32: string };
  return value;
}

function hexOf(crc: number): string {
  return crc.toString(16).padStart(8, "0");
}
