import type { PartNote } from "./content.ts";
import type { PackagePorts } from "./ports.ts";

/** What a file takes beside its bytes: half a block on average, its inode, its name. */
const fileBytes = 4_096;
/** The manifest: a fixed part, and what each file adds to it. */
const manifestBytes = 64 * 1024;
const entryBytes = 1_024;

/** What a package needs on the disk, generously. */
export function estimateBytes(parts: readonly PartNote[]): number {
  const files = parts.reduce((sum, part) => sum + part.bytes + fileBytes + entryBytes, 0);
  return Math.ceil((files + manifestBytes) * 1.1);
}

/** How many bytes are missing for a package; 0 when it fits, or when that is not known. */
export async function missingBytes(
  { freeSpace, minFreeBytes, logger }: Pick<PackagePorts, "freeSpace" | "minFreeBytes" | "logger">,
  path: string,
  needed: number,
): Promise<number> {
  if (freeSpace === undefined) return 0;
  let free: number;
  try {
    free = await freeSpace(path);
  } catch (error) {
    const code = String((error as { readonly code?: unknown }).code);
    logger.warn({ code }, "how much space is left cannot be told; writing will show");
    return 0;
  }
  return Math.max(0, needed + minFreeBytes - free);
}
