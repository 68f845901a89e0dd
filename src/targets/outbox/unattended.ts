import type { OwedPackages } from "../target.ts";
import { idOf, type Outbox } from "./outbox.ts";
import { OwedList } from "./owed-list.ts";
import { type NotesPorts, OwedNotes } from "./owed-notes.ts";

/**
 * What is owed where nobody sends: a deletion is written down, with what waits to be sent of the same
 * package taken away, and is done by the next process that knows the bucket.
 */
export async function unattendedNotes(
  outbox: Outbox,
  { clock, packages }: Pick<NotesPorts, "clock" | "packages">,
): Promise<OwedPackages> {
  const list = new OwedList();
  for (const id of await outbox.list()) list.add(id);
  const notes = new OwedNotes({
    ...{ outbox, list, clock, packages },
    // Which service a copy lies at is known to whoever uploads, and not here.
    options: { bucket: "", region: null, endpoint: undefined, keepLocal: true },
    kick: () => undefined,
    stop: async () => undefined,
  });
  return {
    // Nothing is recorded here, but what a dead process left half done is finished. Where it was to be
    // sent to is known by its entry, if there is one, and by whoever uploads.
    saving: async (coming) => {
      if (list.get(idOf("package", coming.name)) === undefined) await notes.saving(coming);
    },
    saved: (name) => notes.saved(name),
    dropped: (name) => notes.dropped(name),
    forgotten: (gone, copies) => notes.forgotten(gone, copies),
    owes: (name) => notes.owes(name),
  };
}
