import { join } from "node:path";
import type { Disk } from "../disk/disk.ts";

/**
 * Adds up the bytes of a home's files by their folder; attachments, the index and files without a folder
 * (`other`) apart. Looks at one file after the other: other work goes on.
 */
export async function homeBytes(disk: Disk, home: string, signal?: AbortSignal) {
  const bytes: Record<string, number> = {};
  const add = async (folder: string, part: string): Promise<void> => {
    // What goes away while this looks has no bytes.
    for (const { name, kind } of await disk.list(join(home, folder)).catch(() => [])) {
      signal?.throwIfAborted();
      const path = join(folder, name);
      const isFolder = kind === "directory";
      if (isFolder) await add(path, folder === "" ? name : part === "chats" ? "attachments" : part);
      else if (kind === "file") {
        const own = part === "other" && name.startsWith("index.db") ? "index" : part;
        bytes[own] = (bytes[own] ?? 0) + (await disk.size(join(home, path)).catch(() => 0));
      }
    }
  };
  await add("", "other");
  return bytes;
}
