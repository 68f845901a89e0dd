// Which messages anything of one package holds: the folder, its halves, a spill, what is in quarantine.
import { join } from "node:path";
import { isJsonObject } from "../../core/json.ts";
import { readExactly } from "../../core/storage/files/batch-reader.ts";
import { messagesFile } from "./content.ts";
import { endings } from "./names.ts";
import type { PackagePorts } from "./ports.ts";
import { readWhole } from "./read-package.ts";
import { isThere } from "./remove-tree.ts";
import { readHeader } from "./spill.ts";

/**
 * Whether one of these folders, or the spill of this name, holds a message. What is damaged is read as
 * far as it is JSON.
 *
 * @returns `unreadable`: words are there that cannot be read, and no others hold the message.
 */
export async function holdsMessage(
  ports: PackagePorts,
  name: string,
  folders: readonly string[],
  messageId: string,
): Promise<boolean | "unreadable"> {
  const texts = [await spilledMessages(ports, name)];
  for (const folder of folders) {
    texts.push(await readWhole(ports.disk, join(folder, messagesFile)));
  }
  const held = texts.flatMap((text) => (text === undefined ? [] : [idsIn(text)]));
  if (held.some((ids) => ids?.has(messageId))) return true;
  return held.some((ids) => ids === undefined) ? "unreadable" : false;
}

async function spilledMessages(
  { disk, path }: PackagePorts,
  name: string,
): Promise<Buffer | undefined> {
  const spill = join(path, name + endings.spill);
  if (!(await isThere(disk, spill))) return undefined;
  const file = await disk.open(spill, "read");
  try {
    const header = await readHeader(file, name);
    if (header === undefined) return undefined;
    let at = header.end;
    for (const part of header.parts) {
      if (part.path === messagesFile) return await readExactly(file, at, part.bytes);
      at += part.bytes;
    }
    return undefined;
  } finally {
    await file.close();
  }
}

/** The ids of messages as messages.json lists them. `undefined`: it is no list. */
function idsIn(text: Buffer): ReadonlySet<unknown> | undefined {
  try {
    const messages: unknown = JSON.parse(text.toString("utf8"));
    if (!Array.isArray(messages)) return undefined;
    return new Set(messages.filter(isJsonObject).map(({ id }) => id));
  } catch {
    return undefined; // the error would quote it
  }
}
