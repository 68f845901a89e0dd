import type { Check } from "../../cli/doctor/check.ts";
import { counted } from "../../cli/format.ts";
import { chatProjection } from "../../core/chat/chat-head.ts";
import { printableLine } from "../../core/chat/printable.ts";
import { isThroughlineError } from "../../core/errors.ts";
import type { Storage } from "../../core/storage/storage.ts";

const id = "attachments";

/**
 * Reads the attachments of all chats, and compares each with its hash. What is left of a file that a dead process
 * was writing is removed.
 */
export async function checkAttachments(
  storage: Pick<Storage, "files" | "logs">,
): Promise<readonly Check[]> {
  const files = storage.files("chats");
  const logs = storage.logs("chats", chatProjection);
  const checks: Check[] = [];
  let count = 0;
  for await (const key of files.keys()) {
    const name = printableLine(key);
    const found = await files.list(key);
    if (found.length === 0) await files.delete(key);
    if (found.length > 0 && (await logs.tail(key, 0)) === undefined) {
      const says = `chats/${name}: ${counted(found.length, "attachment")} of a chat that does not exist. Run: sessions forget`;
      checks.push({ id, status: "note", says });
    }
    for (const { sha256 } of found) {
      count++;
      try {
        await files.get(key, sha256);
      } catch (error) {
        if (!isThroughlineError(error)) throw error;
        const says = `chats/${name}: ${error.message} [${error.code}]`;
        const isDamaged = error.code === "THROUGHLINE_CORRUPT";
        checks.push({ id, status: isDamaged ? "damaged" : "failed", says });
      }
    }
  }
  if (count === 0 || checks.length > 0) return checks;
  return [{ id, status: "ok", says: `chats: ${counted(count, "attachment")}, every one is whole` }];
}
