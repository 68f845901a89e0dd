import { isDeepStrictEqual } from "node:util";
import { systemClock } from "../../core/clock.ts";
import { closed, conflict } from "../../core/errors.ts";
import { randomId } from "../../core/ids.ts";
import { silentLogger } from "../../core/logger.ts";
import { KeyedMutex } from "../../core/mutex.ts";
import { realDisk } from "../../core/storage/disk/disk.ts";
import { packageId } from "../package/package-name.ts";
import type { PackageSink, Saved, SealedMoment } from "../package/package-sink.ts";
import type { PackageRecord, PackageStatus, Tombstone, UploadError } from "../package/record.ts";
import { type ImportedSeed, importSeed, type SeedImportOptions } from "./import-seed.ts";
import {
  checkName,
  codeOf,
  isHere,
  type PackageDirectoryOptions,
  type PackagePorts,
  placesIn,
  type Sender,
} from "./names.ts";
import {
  addTombstone,
  type ChangeStatus,
  changeStatus,
  isInFlight,
  noteComing,
  readStatus,
  readTombstone,
  removeNote,
  writeTombstone,
} from "./notes.ts";
import { type MessageReaction, reactionsOf, type SeenOwners } from "./reactions.ts";
import { PackageReader, reaching } from "./read-package.ts";
import { recover } from "./recover.ts";
import { type DeleteReceipt, deletePackages, removeHere } from "./remove.ts";
import { type PurgeReport, purge, type RetentionLimits, releasePackage } from "./retention.ts";
import { occupantOf, savePackage } from "./save-package.ts";
import { type OwnedPackage, ownedPackages, ownersOf, type Selection } from "./whose.ts";

/** What is to be sent of a package: by its tombstone, or else by its status. */
export type Asked = Tombstone | PackageStatus;

/** What tells one thing that is to be sent from another: where to delete it, or that it is retracted. */
const askedIn = (asked: Asked) => ("places" in asked ? asked.places : asked.retracted);

/** Who marks a package, and why. */
export interface Mark {
  readonly by: string | null;
  readonly reason: string | null;
}

/**
 * Packages as folders: each whole and sealed, or not there. One process at a time writes a directory:
 * the lease of the home that it lies in sees to that.
 */
export class PackageDirectory extends PackageReader implements PackageSink {
  readonly #ports: PackagePorts;
  /** The names of what is being saved at this moment. */
  readonly #saving = new Set<string>();
  /** Packages that are here, or noted to be in a bucket alone, by their ids. */
  readonly #known = new Map<string, { readonly name: string; readonly isHere: boolean }>();
  readonly #judged: SeenOwners = new Map();
  #closing: Promise<void> | undefined;

  private constructor(options: PackageDirectoryOptions) {
    const ports: PackagePorts = {
      ...options,
      logger: options.logger ?? silentLogger,
      clock: options.clock ?? systemClock,
      newId: options.newId ?? randomId,
      disk: options.disk ?? realDisk,
      guard: options.guard ?? (() => undefined),
      changes: new KeyedMutex(),
      sender: undefined,
      unsyncedNames: new Set(),
    };
    super(ports);
    this.#ports = ports;
  }

  /**
   * Opens a directory of packages, making it if need be, and finishes or sets aside what a dead
   * process left.
   *
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: the disk refused.
   */
  static async open(options: PackageDirectoryOptions): Promise<PackageDirectory> {
    const directory = new PackageDirectory(options);
    await reaching("the packages", async () => {
      const inFlight = await recover(directory.#ports);
      for (const [name, as] of await placesIn(directory.#ports)) {
        const isNoted = as.has("status") && !inFlight.has(name);
        if (isNoted || as.has("package")) directory.#learn(name, as.has("package"));
      }
    });
    return directory;
  }

  async save(moment: SealedMoment, signal?: AbortSignal): Promise<Saved> {
    this.#assertOpen();
    const { record } = moment;
    checkName(record.name);
    // From this line on a deletion waits for it.
    this.#saving.add(record.name);
    const saved = await this.#ports.changes
      .run(record.name, () => savePackage(this.#ports, moment, signal))
      .finally(() => this.#saving.delete(record.name));
    this.#learn(saved.name, true);
    await this.noteSuperseded(record);
    return saved;
  }

  /** The reactions to the messages of a chat, one for each message. */
  reactions(chatId: string): Promise<readonly MessageReaction[]> {
    return reaching("the packages", () =>
      reactionsOf(this.#ports, this.#judged, chatId, (name, by) => this.#supersede(name, by)),
    );
  }

  /** The id of the package of the reaction to a message, which another reaction supersedes. */
  async reactionTo(chatId?: string, messageId?: string): Promise<string | undefined> {
    if (chatId === undefined || messageId === undefined) return undefined;
    const given = await this.reactions(chatId);
    const to = given.find(({ message_ids: ids }) => ids.includes(messageId));
    return to && packageId(to.name);
  }

  /**
   * Notes that a judgement no longer holds; the package itself stays as it is, and a bucket that has it,
   * or is to get it, gets the same note. Also of a package that a status says a bucket alone has.
   * Retracting again changes nothing.
   */
  async retract(
    name: string,
    mark: Mark,
    supersededBy: string | null = null,
  ): Promise<PackageStatus> {
    const { sender } = this.#ports;
    const status = await this.#changeStatus(name, (before, timestamp) => {
      if (before.retracted !== null) return before;
      const retracted = { timestamp, ...mark, superseded_by: supersededBy };
      // What was withheld has no copy that a mark could go beside.
      if (before.upload?.error?.class === "no_consent") return { ...before, retracted };
      const upload =
        before.upload && ({ ...before.upload, state: "pending", error: null } as const);
      return { ...before, retracted, upload };
    });
    if (status.upload?.state === "pending") sender?.pending(name);
    return status;
  }

  /** Keeps a package from every retention; `null` lets it go again. */
  async preserve(name: string, mark: Mark | null): Promise<PackageStatus> {
    return this.#changeStatus(name, (status, timestamp) => ({
      ...status,
      preserved: mark === null ? null : (status.preserved ?? { timestamp, ...mark }),
    }));
  }

  /**
   * Notes a package before it goes to a bucket from memory: forgetting goes by that. A later run that finds
   * it without a copy that was read back asks the bucket: a whole one is kept, of another all is removed.
   *
   * @param bytes of its files.
   * @returns the prefix of its keys.
   * @throws ThroughlineError `THROUGHLINE_CONFLICT`: its name is taken here.
   */
  sending({ record, messages }: SealedMoment, bytes: number): Promise<string> {
    const { name } = record;
    return this.#changing(name, async () => {
      const isFree = (await occupantOf(this.#ports, record)) === "none";
      const of = ownersOf(record, messages);
      const note = isFree ? await noteComing(this.#ports, record, bytes, of) : undefined;
      if (note !== undefined) return note.prefix;
      throw conflict(`${name} cannot go to the bucket: its name is taken here`);
    });
  }

  /** Notes that the bucket agrees: it has the package, and the retraction `sent` if there was one. */
  async sent(name: string, sent: PackageStatus["retracted"] = null): Promise<void> {
    await this.#changing(name, async () => {
      const isHere = await this.has(name);
      const change: ChangeStatus = (status, timestamp) => {
        const { upload, uploaded, retracted } = status;
        if (upload === undefined) return status;
        // From memory it went where its status says, whatever is configured by now.
        const target = (isHere && this.#ports.upload?.target) || upload.target;
        const copy = { bucket: target.bucket, prefix: upload.prefix, timestamp };
        // Retracted by now, and not before: that is still to be sent.
        const state = retracted !== null && sent === null ? "pending" : "done";
        return {
          ...status,
          uploaded: uploaded.length > 0 ? uploaded : [copy],
          upload: { ...upload, target, state, error: null },
        };
      };
      await changeStatus(this.#ports, name, change, true);
      this.#learn(name, isHere);
    });
  }

  /**
   * Notes why an attempt failed at what is to be sent. `dead`: no other follows by itself. Something else that was
   * asked for since, such as a deletion, has not failed.
   *
   * @param asked what was to be done.
   */
  async failed(
    name: string,
    asked: Asked,
    note: { readonly state: "failed" | "dead"; readonly error: UploadError },
  ): Promise<void> {
    await this.#changing(name, async () => {
      const now = await this.asked(name);
      if (now === undefined || !isDeepStrictEqual(askedIn(now), askedIn(asked))) return;
      if ("places" in now) return writeTombstone(this.#ports, name, { ...now, ...note });
      const change: ChangeStatus = (status) => {
        return { ...status, upload: status.upload && { ...status.upload, ...note } };
      };
      await changeStatus(this.#ports, name, change, true);
    });
  }

  /**
   * Removes the copy on this disk because a bucket has one; its status stays. One that is preserved
   * stays; one that is gone is fine.
   *
   * @throws ThroughlineError `THROUGHLINE_INVALID`: no copy in a bucket is noted.
   */
  async release(name: string): Promise<void> {
    await this.#changing(name, async () => {
      await releasePackage(this.#ports, name);
      this.#learn(name, await this.has(name));
    });
  }

  /** Who sends packages hears from now on what there is to be done. */
  connect(sender: Sender): void {
    this.#ports.sender = sender;
  }

  /** The names of packages that have a status or a tombstone. Reads none of them. */
  async noted(): Promise<readonly string[]> {
    const places = [...(await placesIn(this.#ports))];
    return places.flatMap(([name, as]) => (as.has("status") || as.has("tombstone") ? [name] : []));
  }

  /** Whether a package is here, or a status of it. */
  async knows(name: string): Promise<boolean> {
    return (await this.has(name)) || (await isHere(this.#ports, name, "status"));
  }

  /** What is to be sent of a package. `undefined`: it is not known. */
  asked(name: string): Promise<Asked | undefined> {
    return reaching(name, async () => {
      return (await readTombstone(this.#ports, name)) ?? (await readStatus(this.#ports, name));
    });
  }

  /** Something is to be deleted in the configured bucket. Durable when it resolves. */
  async bury(name: string, prefix: string): Promise<void> {
    const { upload, sender } = this.#ports;
    if (upload === undefined) return;
    await this.#changing(name, async () => {
      await addTombstone(this.#ports, name, [{ target: upload.target, prefix }]);
    });
    sender?.pending(name);
  }

  /** Removes what is still here of something that has a tombstone. */
  async finishDeletion(name: string): Promise<void> {
    await this.#changing(name, () => removeHere(this.#ports, name));
    this.#known.delete(packageId(name));
  }

  /**
   * Nothing is left in these places: the tombstone goes if it names no others by now, and the status of a package
   * that was on its way from memory.
   */
  async buried(name: string, places: Tombstone["places"]): Promise<void> {
    await this.#changing(name, async () => {
      const { places: noted } = (await readTombstone(this.#ports, name)) ?? {};
      if (isDeepStrictEqual(noted, places)) await removeNote(this.#ports, name, "tombstone");
      const status = await readStatus(this.#ports, name);
      if (status && isInFlight(status) && !(await isHere(this.#ports, name)))
        await removeNote(this.#ports, name, "status");
    });
  }

  /** Whose everything is that is here. */
  owned(): AsyncIterable<OwnedPackage> {
    return ownedPackages(this.#ports);
  }

  /** Deletes for good what the selection meets, in every place of this directory. */
  async delete(selection: Selection): Promise<DeleteReceipt> {
    this.#assertOpen();
    if ("name" in selection) checkName(selection.name);
    // What is being saved may be meant: it ends first.
    for (const name of [...this.#saving]) await this.#ports.changes.run(name, async () => {});
    const receipt = await reaching("the packages", () => deletePackages(this.#ports, selection));
    for (const name of receipt.deleted) this.#known.delete(packageId(name));
    return receipt;
  }

  /** Removes what is past the limits: see `PurgeReport`. Without limits nothing is removed. */
  async purge(limits: RetentionLimits): Promise<PurgeReport> {
    this.#assertOpen();
    return reaching("the packages", async () => {
      const report = await purge(this.#ports, limits);
      for (const { name } of report.purged) {
        if (await this.knows(name)) this.#learn(name, false);
        else this.#known.delete(packageId(name));
      }
      return report;
    });
  }

  /** Seals a copy of a package that the original wrote. Importing it again changes nothing. */
  async importSeedPackage(folder: string, options: SeedImportOptions = {}): Promise<ImportedSeed> {
    this.#assertOpen();
    const imported = await reaching("the seed's package", () =>
      importSeed(this.#ports, folder, options),
    );
    this.#learn(imported.name, true);
    return imported;
  }

  /** Finishes what was begun. Changes asked for afterwards reject with `THROUGHLINE_CLOSED`. */
  close(): Promise<void> {
    this.#closing ??= this.#ports.changes.idle();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #changeStatus(name: string, change: ChangeStatus): Promise<PackageStatus> {
    return this.#changing(name, () => changeStatus(this.#ports, name, change));
  }

  /** The older judgement is marked; the newer one names it, so losing the mark loses nothing. */
  async noteSuperseded({ supersedes, id }: PackageRecord): Promise<void> {
    const older = supersedes === null ? undefined : this.#known.get(supersedes);
    if (older !== undefined) await this.#supersede(older.name, id);
  }

  async #supersede(name: string, by: string): Promise<void> {
    try {
      await this.retract(name, { by: null, reason: "superseded" }, by);
    } catch (error) {
      const { logger } = this.#ports;
      logger.warn(
        { superseded: packageId(name), error: codeOf(error) },
        "not marked as superseded",
      );
    }
  }

  /** The package with this id, without looking at the disk: one that is noted to be in a bucket alone, too. */
  known(id: string) {
    return this.#known.get(id);
  }

  #learn(name: string, isHere: boolean): void {
    this.#known.set(packageId(name), { name, isHere });
  }

  #changing<T>(name: string, work: () => Promise<T>): Promise<T> {
    try {
      checkName(name);
      this.#assertOpen();
    } catch (error) {
      return Promise.reject(error);
    }
    return reaching(name, () => this.#ports.changes.run(name, work));
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw closed("the packages are closed");
  }
}
