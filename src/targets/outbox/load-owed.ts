import { idOf } from "./outbox.ts";
import type { OwedItem, OwedList } from "./owed-list.ts";
import { note } from "./owed-notes.ts";
import type { UploaderPorts } from "./uploader-ports.ts";

/** How many entries are read at once. */
const atOnce = 64;
/** A due time further away than this came from a clock that was wrong. */
const furthestMs = 3_600_000;

interface LoadPorts extends Pick<UploaderPorts, "outbox" | "packages" | "clock" | "logger"> {
  /** Owes a package again of which there is no entry that can be read. */
  again?(name: string): Promise<void>;
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
  const { outbox, packages, clock } = ports;
  const entry = await outbox.read(item.id);
  if (entry === undefined) {
    list.delete(item.id);
    const isLost = item.kind === "package" && outbox.wasSetAside(item.id);
    if (isLost && (await packages.has(item.name))) await ports.again?.(item.name);
    return;
  }
  const isGone = entry.kind === "package" && list.get(idOf("delete", entry.name)) !== undefined;
  const isUnborn = entry.state === "saving" && !(await packages.has(entry.name));
  if (isGone || isUnborn) {
    list.delete(item.id);
    return await outbox.remove(item.id);
  }
  const waitMs = Math.min(Math.max(entry.next_at * 1_000 - clock.now(), 0), furthestMs);
  if (entry.state !== "saving") return note(item, entry, clock.monotonic() + waitMs);
  // The package came to be, and the process died before it could say so.
  const owed = { ...entry, state: "pending" } as const;
  await outbox.write(item.id, owed);
  note(item, owed, clock.monotonic());
}
