import type { Clock } from "../../core/clock.ts";
import { isPackageName, readManifest } from "../package/package-format.ts";
import type {
  OwedPackages,
  PackageToSend,
  RemoteCopy,
  RemoteRetraction,
} from "../package/target.ts";
import { keyPrefix } from "../s3/object-key.ts";
import { idOf, type Outbox } from "./outbox.ts";
import type { OwedError } from "./outcome.ts";
import type { OwedEntry } from "./owed-entry.ts";
import type { OwedItem, OwedList } from "./owed-list.ts";
import { type OwedSearch, searchId } from "./owed-search.ts";
import type { LocalPackages, UploaderOptions } from "./uploader-ports.ts";

type NotesOptions = Pick<UploaderOptions, "bucket" | "region" | "endpoint" | "keepLocal">;

export interface NotesPorts {
  readonly outbox: Outbox;
  readonly list: OwedList;
  readonly packages: Pick<LocalPackages, "manifest" | "has" | "status">;
  readonly clock: Clock;
  /** `region: null`: it is not known where; whatever service is configured when it is done. */
  readonly options: Omit<NotesOptions, "region"> & { readonly region: string | null };
  /** Something new can be sent. */
  kick(): void;
  /** Ends what is being sent of a package, and waits for that. */
  stop(name: string): Promise<void>;
}

/** Writes down what is owed, before anybody relies on it. */
export class OwedNotes implements OwedPackages {
  readonly #ports: NotesPorts;

  constructor(ports: NotesPorts) {
    this.#ports = ports;
  }

  async saving(coming: PackageToSend): Promise<void> {
    if (!coming.consent.upload) return;
    const { name } = coming;
    const entry = this.#newEntry("package", name, keyPrefix(coming.session_id, name), "saving");
    await this.#write(idOf("package", name), entry);
  }

  async saved(name: string): Promise<void> {
    const { outbox, packages } = this.#ports;
    const id = idOf("package", name);
    const entry = await outbox.read(id);
    if (entry?.state !== "saving") return;
    const { manifest } = readManifest(await packages.manifest(name));
    const bytes = manifest?.files.reduce((sum, file) => sum + file.bytes, 0) ?? 0;
    await this.#write(id, { ...entry, state: "pending", bytes });
    this.#ports.kick();
  }

  /**
   * Owes once more what an entry owed that cannot be read, by its id alone. A package may be there
   * already: then that is found.
   */
  async again({ id, kind, name }: Pick<OwedItem, "id" | "kind" | "name">): Promise<void> {
    const isNothing = kind !== "search" && !isPackageName(name);
    if (isNothing || (kind === "package" && !(await this.#ports.packages.has(name)))) {
      await this.#ports.outbox.remove(id);
      this.#ports.list.delete(id);
    } else if (kind === "package") {
      const { manifest } = readManifest(await this.#ports.packages.manifest(name));
      if (manifest?.consent.upload !== true) return await this.dropped(name);
      await this.saving(manifest);
      await this.saved(name);
    } else if (kind === "retraction") {
      await this.#retractedAgain(id, name);
    } else {
      await this.#write(id, this.#newEntry(kind, name, "", "pending"));
    }
  }

  /** In the words of its status; where there is none, that it is retracted is all that is known. */
  async #retractedAgain(id: string, name: string): Promise<void> {
    const { retracted = null, uploaded = [] } = (await this.#ports.packages.status(name)) ?? {};
    const unknown = { by: null, reason: null, superseded_by: null };
    const {
      timestamp: at,
      by,
      reason,
      superseded_by,
    } = {
      ...{ timestamp: this.#now(), ...unknown },
      ...retracted,
    };
    const copies = [...uploaded, ...(await this.coming(name))];
    const { bucket } = this.#target();
    const places = copies.length === 0 ? [{ bucket, prefix: "" }] : copies;
    await this.retracted(name, places, { at, by, reason, superseded_by });
    if (!this.#ports.outbox.wasSetAside(id)) return;
    await this.#ports.outbox.remove(id); // that of a second copy, which is noted no more
    this.#ports.list.delete(id);
  }

  /**
   * A package is about to go from memory to the bucket: if this process dies, the next one finds out
   * whether it arrived, and removes what there is of it if it did not.
   */
  async sending(name: string, sessionId: string): Promise<void> {
    const entry = this.#newEntry("sending", name, keyPrefix(sessionId, name), "saving");
    await this.#write(idOf("sending", name), entry);
  }

  /** That is settled. */
  async sent(name: string): Promise<void> {
    const id = idOf("sending", name);
    if (this.#ports.list.get(id) === undefined) return;
    await this.#ports.outbox.remove(id);
    this.#ports.list.delete(id);
  }

  /** It will not be sent again in this run: what there is of it goes, unless it arrived. */
  async abandoned(name: string): Promise<void> {
    const id = idOf("sending", name);
    const entry = this.#ports.list.get(id) && (await this.#ports.outbox.read(id));
    if (entry === undefined) return;
    await this.#write(id, { ...entry, state: "pending" });
    this.#ports.kick();
  }

  /** Owes a search of the bucket, and the deletion of what it finds. */
  async search(wanted: OwedSearch): Promise<void> {
    const id = searchId(wanted);
    await this.#write(id, this.#newEntry("search", id, "", "pending"));
    this.#ports.kick();
  }

  async dropped(name: string): Promise<void> {
    const id = idOf("package", name);
    await this.#ports.outbox.remove(id);
    this.#ports.list.delete(id);
  }

  /**
   * Whether anything of a package is still to be sent. What is parked is owed too: only people can
   * let go of it.
   */
  async owes(name: string): Promise<boolean> {
    return this.#ports.list.of(name).some(({ kind }) => kind === "package");
  }

  async forgotten(gone: PackageToSend, copies: readonly RemoteCopy[]): Promise<number> {
    const { outbox, list } = this.#ports;
    const { name } = gone;
    const owed = list.of(name).filter(({ kind }) => kind !== "delete");
    const isToSend = ({ kind }: OwedItem) => kind !== "sending";
    for (const item of owed) item.isHeld = true;
    try {
      await this.#ports.stop(name);
      await this.#oweRemoval(gone, copies, owed);
    } catch (error) {
      for (const item of owed) item.isHeld = false;
      throw error;
    }
    // Only now: a power cut between leaves both, and the deletion wins.
    for (const { id } of owed) {
      await outbox.remove(id);
      list.delete(id);
    }
    this.#ports.kick();
    return owed.filter(isToSend).length;
  }

  /** A deletion for every place where something of it is, or may be. */
  async #oweRemoval(
    gone: PackageToSend,
    copies: readonly RemoteCopy[],
    owed: readonly OwedItem[],
  ): Promise<void> {
    const { outbox } = this.#ports;
    const { name } = gone;
    const paths = await this.#pathsOf(name);
    const here = this.#target();
    const places = new Map(
      copies.map(({ bucket, prefix }) => {
        return [`${bucket}/${prefix}`, { prefix, target: { ...here, bucket } }];
      }),
    );
    for (const { kind, id } of owed) {
      if (kind === "retraction") continue;
      // Part of it may be there already.
      const entry = await outbox.read(id);
      const { prefix, target } = entry ?? {
        prefix: keyPrefix(gone.session_id, name),
        target: here,
      };
      if (target.bucket !== "") places.set(`${target.bucket}/${prefix}`, { prefix, target });
    }
    let copy = 1;
    for (const { prefix, target } of places.values()) {
      const entry = this.#newEntry("delete", name, prefix, "pending");
      await this.#write(idOf("delete", name, copy), { ...entry, target, paths });
      copy++;
    }
  }

  async retracted(
    name: string,
    copies: readonly RemoteCopy[],
    retraction: RemoteRetraction,
  ): Promise<void> {
    for (const [index, { bucket, prefix }] of distinct(copies).entries()) {
      const entry = this.#newEntry("retraction", name, prefix, "pending");
      const target = { ...entry.target, bucket };
      const id = idOf("retraction", name, index + 1);
      await this.#write(id, { ...entry, target, retraction });
    }
    this.#ports.kick();
  }

  async coming(name: string): Promise<readonly RemoteCopy[]> {
    const { list, outbox } = this.#ports;
    const id = idOf("package", name);
    const entry = list.get(id) === undefined ? undefined : await outbox.read(id);
    if (entry === undefined) return [];
    return [{ bucket: this.#target().bucket || entry.target.bucket, prefix: entry.prefix }];
  }

  async #pathsOf(name: string): Promise<readonly string[]> {
    try {
      const { manifest } = readManifest(await this.#ports.packages.manifest(name));
      return manifest?.files.map(({ path }) => path) ?? [];
    } catch {
      return []; // it is gone: a listing of the bucket tells what there is
    }
  }

  #newEntry(
    kind: OwedEntry["kind"],
    name: string,
    prefix: string,
    state: OwedEntry["state"],
  ): OwedEntry {
    const { keepLocal } = this.#ports.options;
    const now = this.#now();
    return {
      ...{ v: 1, kind, name, target: this.#target(), prefix, state, attempts: 0 },
      ...{ first_at: now, next_at: now, sent_through: 0, keep_local: keepLocal, last_error: null },
    };
  }

  /** Seconds since 1970. */
  #now(): number {
    return Math.round(this.#ports.clock.now()) / 1_000;
  }

  #target(): OwedEntry["target"] {
    const { bucket, region, endpoint = null } = this.#ports.options;
    return { bucket, region, endpoint };
  }

  async #write(id: string, entry: OwedEntry): Promise<void> {
    const { outbox, list, clock } = this.#ports;
    await outbox.write(id, entry);
    note(list.get(id) ?? list.add(id), entry, clock.monotonic());
  }
}

function distinct(copies: readonly RemoteCopy[]): readonly RemoteCopy[] {
  return [...new Map(copies.map((copy) => [`${copy.bucket}/${copy.prefix}`, copy])).values()];
}

/** What is kept in memory of an entry. */
export function note(item: OwedItem, entry: OwedEntry, dueAt: number): void {
  item.state = entry.state;
  item.kind = entry.kind;
  item.dueAt = dueAt;
  item.firstAt = entry.first_at;
  item.bytes = entry.bytes ?? 0;
  item.error = errorIn(entry);
}

/** What an earlier run wrote down, as far as people are told of it. */
function errorIn({ last_error: last }: OwedEntry): OwedItem["error"] {
  if (last === null) return null;
  const { class: kind, code, status } = last;
  return { class: kind as OwedError["class"], code, status };
}
