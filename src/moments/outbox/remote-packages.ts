// What the bucket alone has: looked for, taken back, forgotten.
import type { Clock } from "../../core/clock.ts";
import type { Timers } from "../../core/timers.ts";
import type { Selection } from "../directory/delete-packages.ts";
import type { RemoteCopy, RemoteRetraction } from "../package/target.ts";
import { DeadlinePassed } from "../s3/deadline.ts";
import {
  foldersIn,
  isAbandoned,
  type RemoteFolder,
  readRemote,
  remoteMessageIds,
} from "../s3/find-packages.ts";
import type { S3Bucket } from "../s3/s3-bucket.ts";
import { idOf } from "./outbox.ts";
import type { OwedEntry } from "./owed-entry.ts";
import type { OwedList } from "./owed-list.ts";
import type { OwedNotes } from "./owed-notes.ts";
import { isInTime, isSearchedFor, type OwedSearch, searchFor, searchOfId } from "./owed-search.ts";
import type { LocalPackages } from "./uploader-ports.ts";

/** Somebody waits: a bucket is searched for no longer, in milliseconds. The rest is owed. */
const searchMs = 60_000;

type NamedCopy = RemoteCopy & { readonly name: string };

export interface Forgotten {
  /** Owed as deletions. */
  readonly copies: readonly NamedCopy[];
  /** False: the bucket was away, or took too long. The search is owed. */
  readonly isWhole: boolean;
}

export interface RemotePackagesPorts {
  readonly notes: OwedNotes;
  readonly list: OwedList;
  readonly packages: Pick<LocalPackages, "has" | "dropRemote" | "status">;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly bucket: string;
  /** Whether something of this name is being sent. */
  isBusy(name: string): boolean;
  /** Does something with the bucket, once. @returns whether it was done. */
  attempt(work: (bucket: S3Bucket, signal: AbortSignal) => Promise<void>): Promise<boolean>;
}

export class RemotePackages {
  readonly #ports: RemotePackagesPorts;

  constructor(ports: RemotePackagesPorts) {
    this.#ports = ports;
  }

  /**
   * Owes the deletion of what the bucket alone has of a selection, and of uploads that were cut off.
   * What could not be seen now is searched as soon as it can be.
   */
  async forget(selection: Selection): Promise<Forgotten> {
    const { notes, clock } = this.#ports;
    const wanted = searchFor(selection, clock.now() / 1_000);
    if (wanted === undefined) {
      return await this.#forgetOne("name" in selection ? selection.name : "");
    }
    const copies: NamedCopy[] = [];
    // The words of every package are read for it: hiding a message does not wait for that.
    if (wanted.by === "message") {
      await notes.search(wanted);
      return { copies, isWhole: false };
    }
    const isWhole = await this.#search(async (bucket, signal) => {
      for await (const copy of this.#meant(bucket, wanted, signal)) copies.push(copy);
    });
    if (isWhole) await this.#searched(wanted);
    else await notes.search(wanted);
    return { copies, isWhole };
  }

  /** A search that is owed. @throws what says that not all of the bucket was seen. */
  async search(bucket: S3Bucket, { name }: OwedEntry, signal: AbortSignal): Promise<void> {
    const wanted = searchOfId(name);
    if (wanted === undefined) return;
    for await (const _ of this.#meant(bucket, wanted, signal)) signal.throwIfAborted();
  }

  /** Owes the deletion of uploads that were cut off a day ago or longer: of any device of the bucket. */
  async sweep(): Promise<Forgotten> {
    const copies: NamedCopy[] = [];
    const isWhole = await this.#search(async (bucket, signal) => {
      for await (const folder of foldersIn(bucket, signal)) {
        if (await this.#isLeft(folder)) copies.push(await this.#owe(folder, ""));
      }
    });
    return { copies, isWhole };
  }

  /**
   * Owes the mark that a package of which nothing is known here is retracted.
   *
   * @returns false: all of the bucket was seen, and it is not there.
   */
  async retract(
    name: string,
    { by, reason }: Pick<RemoteRetraction, "by" | "reason">,
  ): Promise<boolean> {
    const { notes, bucket, clock } = this.#ports;
    const found: RemoteCopy[] = [];
    const isWhole = await this.#search(async (opened, signal) => {
      for await (const folder of foldersIn(opened, signal)) {
        if (folder.name === name && folder.isSealed) found.push({ bucket, prefix: folder.prefix });
      }
    });
    if (isWhole && found.length === 0) return false;
    const places = isWhole ? found : [{ bucket, prefix: "" }];
    const at = Math.round(clock.now()) / 1_000;
    await notes.retracted(name, places, { at, by, reason, superseded_by: null });
    return true;
  }

  async #forgetOne(name: string): Promise<Forgotten> {
    const { notes, list, bucket } = this.#ports;
    const copies: NamedCopy[] = [];
    const isWhole = await this.#search(async (opened, signal) => {
      for await (const folder of foldersIn(opened, signal)) {
        if (folder.name === name) copies.push({ name, bucket, prefix: folder.prefix });
      }
    });
    const isOwed = list.get(idOf("delete", name)) !== undefined;
    const places = isWhole || isOwed ? copies : [{ bucket, prefix: "" }];
    if (places.length > 0) {
      await notes.forgotten({ name, session_id: "", consent: { upload: true } }, places);
    }
    return { copies, isWhole };
  }

  /** Each package that is meant, once its deletion is owed; what was cut off as well, unnamed. */
  async *#meant(
    bucket: S3Bucket,
    wanted: OwedSearch,
    signal: AbortSignal,
  ): AsyncGenerator<NamedCopy, void> {
    const { list, packages } = this.#ports;
    for await (const folder of foldersIn(bucket, signal)) {
      const { name, isSealed } = folder;
      if (await this.#isLeft(folder)) await this.#owe(folder, "");
      if (!isSealed || !isInTime(wanted, name)) continue;
      if (list.get(idOf("delete", name)) !== undefined || (await packages.has(name))) continue;
      const manifest = await readRemote(bucket, folder, signal);
      if (manifest === undefined) continue;
      const isByMessage = wanted.by === "message";
      const messageIds = isByMessage ? await remoteMessageIds(bucket, folder, signal) : [];
      if (!isSearchedFor(wanted, { ...manifest, messageIds })) continue;
      yield await this.#owe(folder, manifest.session_id);
    }
  }

  /** Whether it is of an upload that was cut off, and that nobody here goes on with. */
  async #isLeft(folder: RemoteFolder): Promise<boolean> {
    const { clock, list, isBusy, packages } = this.#ports;
    if (!isAbandoned(folder, clock.now())) return false;
    const { name } = folder;
    return !isBusy(name) && list.of(name).length === 0 && !(await packages.has(name));
  }

  async #owe({ name, prefix }: RemoteFolder, sessionId: string): Promise<NamedCopy> {
    const { notes, packages, bucket } = this.#ports;
    const gone = { name, session_id: sessionId, consent: { upload: true } };
    await notes.forgotten(gone, [{ bucket, prefix }]);
    await packages.dropRemote(name);
    return { name, bucket, prefix };
  }

  /** Owed searches for the same are done with this one. */
  async #searched({ by, sha256 }: OwedSearch): Promise<void> {
    const { list, notes } = this.#ports;
    for (const { id, kind } of [...list.values()]) {
      const owed = kind === "search" ? searchOfId(id) : undefined;
      if (owed?.by === by && owed.sha256 === sha256) await notes.dropped(id);
    }
  }

  async #search(work: (bucket: S3Bucket, signal: AbortSignal) => Promise<void>): Promise<boolean> {
    const late = new AbortController();
    const tooLong = new DeadlinePassed(`the bucket was searched for ${searchMs} ms`);
    const cancel = this.#ports.timers.after(searchMs, () => late.abort(tooLong));
    try {
      return await this.#ports.attempt((bucket, outer) =>
        work(bucket, AbortSignal.any([outer, late.signal])),
      );
    } finally {
      cancel();
    }
  }
}
