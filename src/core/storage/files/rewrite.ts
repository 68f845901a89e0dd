import { unavailable } from "../../errors.ts";
import { erasedJson, storedLine } from "../batch.ts";
import type { DiskFile } from "../disk/disk.ts";
import { recordsOf } from "./batch-reader.ts";
import { putBatch, roomFor } from "./commit.ts";
import { inSpaceOfIndex, isFull, replaceLog, writeAll } from "./file-ports.ts";
import type { LogFile, LogPorts } from "./log-file.ts";

/**
 * One batch of the new file ends after so many records or characters: few enough that one damaged byte
 * costs little, and that with one record of 1 MiB more no reader takes the batch for too long.
 */
const batchLimits = { records: 64, characters: 64 * 1024 } as const;

/**
 * Rewrites a log without the content of some records, and replaces the old file with the new one.
 * Numbers and ids stay; every commit line carries the given head, since earlier heads may
 * repeat what was said. A power cut leaves the old file or the new one.
 *
 * @returns how many bytes of the old file could not be read, and are not in the new one.
 * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: the disk has no space for it.
 */
export async function rewriteLog(
  ports: LogPorts,
  log: LogFile,
  erase: ReadonlySet<string>,
  headJson: string,
): Promise<number> {
  let unread = 0;
  const fill = async (file: DiskFile) => {
    let end = 0;
    let prev = "";
    let lines = "";
    let ids: string[] = [];
    const flush = async (seq: number) => {
      if (ids.length === 0) return;
      const batch = {
        key: log.key,
        lines,
        ids,
        seq,
        headJson,
        prev,
        damaged: log.damaged,
        opens: end === 0,
      };
      const bytes = Buffer.allocUnsafe(roomFor(batch));
      const put = putBatch(bytes, 0, batch);
      await writeAll(file, bytes.subarray(0, put.end), end);
      end += put.end;
      prev = put.crc;
      lines = "";
      ids = [];
    };
    let last = 0;
    for await (const batch of log.batches(0)) {
      unread -= batch.end - batch.start;
      for (const record of recordsOf(batch)) {
        const { id, seq } = record;
        lines += `${erase.has(id) ? storedLine(erasedJson(id), seq) : JSON.stringify(record)}\n`;
        ids.push(id);
        last = seq;
        const isEnough =
          ids.length >= batchLimits.records || lines.length >= batchLimits.characters;
        if (isEnough) await flush(last);
      }
    }
    await flush(last);
  };
  try {
    await inSpaceOfIndex(ports.index.file, log.stored.end, () => {
      unread = log.stored.end;
      return replaceLog(ports, log.path, fill);
    });
  } catch (error) {
    if (!isFull(error)) throw error;
    throw unavailable(
      `${log.key}: the disk is full. Erasing rewrites the log, which needs ${log.stored.end} bytes of free ` +
        "space. Deleting the whole log needs none",
      error,
    );
  }
  return unread;
}
