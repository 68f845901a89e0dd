// Keys become file names: a public contract, because people look into their home.
import { dirname } from "node:path";
import { sha256 } from "../../sha256.ts";

/** Longest name of any file that belongs to a key, its extension and a temporary suffix included. */
const maxBytes = 100;
/** What a name may be followed by: the backup of a document on its way, with its random part. */
const longestSuffix = ".json.bak.tmp-".length + 18;
/** Hex digits of SHA-256 that stand for a key too long to be spelled out: 160 bits. */
const hashDigits = 40;
const longestName = maxBytes - longestSuffix;

/** Names that Windows keeps for devices, whatever extension follows. */
const reserved = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])$/;

/** Most keys: a channel and a name in it. At a start there may be ten thousand of them. */
const usual = /^[a-z0-9_-]{1,32}:[a-z0-9_-]{1,32}$/;

/**
 * The name of a key's file, without extension. Takes a key that `checkKey` let pass.
 *
 * Letters `a` to `z`, digits, `_` and `-` stand for themselves, every other byte of the UTF-8 is
 * `%` and two hex digits, and so is the first letter of a name that Windows reserves. A name past 68
 * bytes is its first 27, `~`, and 40 hex digits of the key's SHA-256. So two keys never share a file,
 * also on a disk that ignores case or changes the form of Unicode; no name leaves its directory, ends
 * in a dot or a space, or passes 100 bytes with all that follows it.
 */
export function fileNameOf(key: string): string {
  if (usual.test(key)) return key.replace(":", "%3a");
  let name = key.replace(/[^a-z0-9_-]+/g, spelledOut);
  if (reserved.test(name)) name = spelledOut(name.charAt(0)) + name.slice(1);
  if (name.length <= longestName) return name;
  const hash = sha256(key).toString("hex").slice(0, hashDigits);
  return `${name.slice(0, longestName - hashDigits - 1)}~${hash}`;
}

/** Names the file of a log by its path in the home, with `/` between the names. */
export function logName(collection: string, key: string): string {
  const name = `${fileNameOf(key)}.jsonl`;
  return collection === "" ? name : `${collection}/${name}`;
}

/** The collection of a log, by its path in the home: the folder that it lies in, `""` for the home itself. */
export function collectionOf(name: string): string {
  return dirname(name).replace(/^\.$/, "");
}

/**
 * The key that a name spells out. `undefined` for a hashed name, whose key stands only inside the
 * file, and for a name that no key has.
 */
export function keyOfFileName(name: string): string | undefined {
  let key: string;
  try {
    key = decodeURIComponent(name);
  } catch {
    return undefined; // not UTF-8: no name of ours
  }
  return key !== "" && fileNameOf(key) === name ? key : undefined;
}

/** Every byte of a text, in hex. */
function spelledOut(text: string): string {
  return Buffer.from(text).toString("hex").replace(/../g, "%$&");
}
