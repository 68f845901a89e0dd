import { idOf } from "./outbox.ts";
import type { OwedEntry } from "./owed-entry.ts";
import type { OwedItem, OwedList } from "./owed-list.ts";
import { note } from "./owed-notes.ts";
import type { UploaderPorts } from "./uploader-ports.ts";

/** How many entries are read at once. */
const atOnce = 64;
/** A due time further away than this came from a clock that was wrong. */
const furthestMs = 3_600_000;

interface LoadPorts extends Pick<UploaderPorts, "outbox" | "packages" | "clock" | "logger"> {
  /** Owes again what an entry owed that cannot be read. */
  again(item: OwedItem): Promise<void>;
}

/** Reads the next 64 entries of which only the name is known, oldest first. */
export async function loadOwed(list: OwedList, ports: LoadPorts): Promise<void> {
  const unread = list.unread(atOnce);
  await Promise.all(
    unread.map(async (item) => {
      try {
        await load(list, item, ports);
      } catch (error) {
        // It is owed all the same: the attempt to send it reads it again.
        item.state = "pending";
        const code = (error as { readonly code?: unknown }).code;
        ports.logger.warn({ entry: item.id, code }, "an entry of the outbox could not be read");
      }
    }),
  );
}

async function load(list: OwedList, item: OwedItem, ports: LoadPorts): Promise<void> {
  const { outbox, clock } = ports;
  const entry = await outbox.read(item.id);
  if (entry === undefined) {
    if (outbox.wasSetAside(item.id)) await ports.again(item);
    else list.delete(item.id);
    return;
  }
  if (await isMoot(list, entry, ports)) {
    list.delete(item.id);
    return await outbox.remove(item.id);
  }
  const waitMs = Math.min(Math.max(entry.next_at * 1_000 - clock.now(), 0), furthestMs);
  if (entry.state === "pending" || (entry.state === "parked" && !list.isAskedFor)) {
    return note(item, entry, clock.monotonic() + (list.isAskedFor ? 0 : waitMs));
  }
  // Somebody asks for it again. Or it came to be, or was on its way to the bucket, and the process
  // died before it could say so.
  const owed = { ...entry, state: "pending" } as const;
  await outbox.write(item.id, owed);
  note(item, owed, clock.monotonic());
}

/** Whether there is nothing left to be done: a deletion goes first, and an upload needs its package. */
async function isMoot(
  list: OwedList,
  { kind, name, state }: OwedEntry,
  { packages }: LoadPorts,
): Promise<boolean> {
  if (kind !== "package" && kind !== "sending") return false;
  if (list.get(idOf("delete", name)) !== undefined) return true;
  if (state !== "saving") return false;
  // What was on its way from memory, and is here now, goes up from here.
  return (await packages.has(name)) === (kind === "sending");
}
