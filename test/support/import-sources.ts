// Files to import that lie in memory, and files of an export as texts.
import type { Throughline } from "../../src/core/throughline.ts";
import { type ExportOptions, exportChats } from "../../src/interchange/export.ts";
import type { Source } from "../../src/interchange/import.ts";

/** In small pieces of an odd size: no line may depend on where a piece ends. */
export function source(
  name: string,
  given: Uint8Array | string,
  more: Partial<Source> = {},
): Source {
  const buffer = Buffer.from(given);
  const size = buffer.length < 10_000 ? 37 : 65_537;
  const pieces = async function* () {
    for (let at = 0; at < buffer.length; at += size) yield buffer.subarray(at, at + size);
  };
  return { name, bytes: { [Symbol.asyncIterator]: pieces }, ...more };
}

/** The text of each file of an export, by its name. */
export async function exported(
  { chats }: Pick<Throughline, "chats">,
  options: ExportOptions,
): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for await (const { name, pieces } of exportChats(chats, options)) {
    files.set(name, (await Array.fromAsync(pieces)).join(""));
  }
  return files;
}
