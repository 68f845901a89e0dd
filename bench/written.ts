// How many bytes a turn writes: journal and log together.
import { askChild } from "./child.ts";
import type { Figure } from "./figure.ts";
import { turnSize } from "./product.ts";
import type { Run } from "./run.ts";
import type { WrittenBytes } from "./written-bytes.ts";

export async function writtenBytes({ dir }: Run): Promise<Figure[]> {
  const { json } = await turnSize(dir);
  const figures: Figure[] = [];
  for (const chats of [1, 200]) {
    const written = await askChild<WrittenBytes>(new URL("./written-bytes.ts", import.meta.url), [
      `${dir}/home${chats}`,
      String(chats),
    ]);
    const { log, journal, other, all, disk } = written;
    figures.push({
      says: `bytes written for a turn, ${chats === 1 ? "one chat" : `${chats} chats at once`}: journal (${Math.round(journal)}) and log (${Math.round(log)}), against the JSON of its records (${json})`,
      ratio: (journal + log) / json,
      target: 2.3,
      details: {
        "other files written by the same code, bytes a turn": Math.round(other),
        "everything that the process writes, the index too, bytes a turn": Math.round(all),
        "what the kernel counts for the disk, in whole pages, bytes a turn": Math.round(disk),
      },
    });
  }
  return figures;
}
