import type { Selection } from "../directory/delete-packages.ts";
import type { OwedPackages } from "../package/target.ts";
import { idOf, type Outbox } from "./outbox.ts";
import { OwedList } from "./owed-list.ts";
import { type NotesPorts, OwedNotes } from "./owed-notes.ts";
import { searchFor } from "./owed-search.ts";

export interface UnattendedNotes extends OwedPackages {
  /**
   * Owes a search of the bucket for what it alone has. The next process that knows it does it.
   *
   * @returns false: no bucket was ever named in this home, so there is nothing to search.
   */
  search(selection: Selection): Promise<boolean>;
}

/**
 * What is owed where nobody sends: a deletion is written down, with what waits to be sent of the same
 * package taken away, and is done by the next process that knows the bucket.
 */
export async function unattendedNotes(
  outbox: Outbox,
  { clock, packages }: Pick<NotesPorts, "clock" | "packages">,
): Promise<UnattendedNotes> {
  const isBucketKnown = await outbox.isMade();
  const list = new OwedList();
  if (isBucketKnown) for (const id of await outbox.list()) list.add(id);
  const notes = new OwedNotes({
    ...{ outbox, list, clock, packages },
    // Which service a copy lies at is known to whoever uploads, and not here.
    options: { bucket: "", region: null, endpoint: undefined, keepLocal: true },
    kick: () => undefined,
    stop: async () => undefined,
  });
  return {
    // What a dead process left half done is finished. Where it was to be sent to is known by its entry,
    // if there is one, and by whoever uploads; where no bucket was ever named it stays here.
    saving: async (coming) => {
      const isOwed = list.get(idOf("package", coming.name)) !== undefined;
      if (isBucketKnown && !isOwed) await notes.saving(coming);
    },
    saved: (name) => notes.saved(name),
    dropped: (name) => notes.dropped(name),
    forgotten: (gone, copies) => notes.forgotten(gone, copies),
    owes: (name) => notes.owes(name),
    coming: (name) => notes.coming(name),
    retracted: (name, copies, retraction) => notes.retracted(name, copies, retraction),
    search: async (selection) => {
      if (!isBucketKnown) return false;
      const wanted = searchFor(selection, clock.now() / 1_000);
      if (wanted !== undefined) await notes.search(wanted);
      else if ("name" in selection && list.get(idOf("delete", selection.name)) === undefined) {
        const gone = { name: selection.name, session_id: "", consent: { upload: true } };
        await notes.forgotten(gone, [{ bucket: "", prefix: "" }]);
      }
      return true;
    },
  };
}
