import { join, resolve } from "node:path";
import { isoTime } from "../../clock.ts";
import { closed, isThroughlineError, ThroughlineError, unavailable } from "../../errors.ts";
import { callBack } from "../../logger.ts";
import { misconfigured } from "../../options.ts";
import type { DiskEntry } from "../disk/disk.ts";
import type { LogProjection } from "../log-store.ts";
import { LocalCluster, LocalLeases } from "../one-process.ts";
import type { OwnHome, RepairReport, Storage } from "../storage.ts";
import type { Damage } from "./batch-reader.ts";
import { CollectionIndex, coverageOf } from "./collection-index.ts";
import { FileDocumentStore } from "./file-document-store.ts";
import { FileFileStore } from "./file-file-store.ts";
import { FileLogStore } from "./file-log-store.ts";
import { fileNameOf } from "./file-name.ts";
import {
  type HomePorts,
  isCode,
  isTemporaryName,
  makeDirectory,
  type NewReport,
  syncNames,
  temporaryName,
  writeAll,
} from "./file-ports.ts";
import { Journal } from "./journal.ts";
import { isLoss, Quarantine, quarantineFolder, readReports } from "./quarantine.ts";
import { RecentRecords } from "./recent-records.ts";
import { journalFolder } from "./segments.ts";

type GivenPorts = Omit<HomePorts, "unsyncedNames" | "quarantine" | "forgetQuarantine" | "report">;

/** One home directory: logs, documents and attachments as files that a person can read. */
export class FileStorage implements Storage {
  readonly leases = new LocalLeases();
  readonly cluster = new LocalCluster();
  readonly #ports: HomePorts;
  readonly #quarantine: Quarantine;
  readonly #journal: Journal;
  readonly #recent = new RecentRecords();
  readonly #logs = new Map<string, FileLogStore>();
  readonly #documents = new Map<string, FileDocumentStore>();
  readonly #files = new Map<string, FileFileStore>();
  /** What else the home held then, by name. */
  readonly #noFolders = new Set<string>();
  readonly #repairs: RepairReport[] = [];
  #unconfirmed: readonly string[] = [];
  readonly #reported = new Set<string>();
  readonly #listeners = new Set<(report: RepairReport) => void>();
  readonly #writing = new Set<Promise<void>>();
  #closing: Promise<void> | undefined;
  #isReleased = false;
  readonly ownHome: OwnHome;

  private constructor(ports: GivenPorts) {
    this.ownHome = {
      path: ports.home,
      assertWriter: () => {
        this.#assertOpen();
        ports.guard();
      },
      unconfirmed: () => this.#unconfirmed,
      indexBehind: () => ports.index.behind,
      syncTimes: () => this.#journal.syncPlace.times,
      recreated: (collection) => this.#journal.segments.recovered.recreated(collection),
    };
    this.#ports = {
      ...ports,
      unsyncedNames: new Set(),
      quarantine: (...place) => this.#quarantine.keep(...place),
      forgetQuarantine: (path) => this.#forgetQuarantine(path),
      report: (collection, report) => this.#report(collection, report),
    };
    this.#quarantine = new Quarantine(this.#ports, ports.home);
    this.#journal = new Journal(this.#ports);
  }

  /**
   * Opens a home, creating it if need be. What a dead process left half done is swept, and the names
   * that it made are made durable, before anything is read.
   */
  static async open(ports: GivenPorts): Promise<FileStorage> {
    const storage = new FileStorage({ ...ports, home: resolve(ports.home) });
    const isUsed = await storage.#prepare();
    if (isUsed) await storage.#warn();
    await storage.#journal.segments.recover();
    return storage;
  }

  async #warn(): Promise<void> {
    const reports = [...(await readReports(this.#ports.disk, this.#ports.home)).values()];
    const findings = reports.filter((each) => isLoss(each) && !each.confirmed);
    this.#unconfirmed = findings.flatMap(({ quarantined }) => quarantined ?? []);
    if (findings.length === 0) return;
    const says = "damage of this home is not confirmed: see `throughline doctor`";
    this.#ports.logger.warn({ findings: findings.length }, says);
  }

  logs(collection: string, projection: LogProjection): FileLogStore {
    return this.#once(this.#logs, collection, () => this.#openLogs(collection, projection));
  }

  documents(collection: string): FileDocumentStore {
    const open = () => new FileDocumentStore(this.#ports, collection);
    return this.#once(this.#documents, collection, open);
  }

  files(collection: string): FileFileStore {
    const open = () => new FileFileStore(this.#ports, join(this.#ports.home, collection));
    return this.#once(this.#files, collection, open);
  }

  #once<T>(opened: Map<string, T>, collection: string, open: () => T): T {
    this.#assertOpen();
    const known = opened.get(collection);
    if (known !== undefined) return known;
    this.#assertFolder(collection);
    const store = open();
    opened.set(collection, store);
    return store;
  }

  #openLogs(collection: string, projection: LogProjection): FileLogStore {
    const directory = join(this.#ports.home, collection);
    const changed = this.#ports.directoryChanged(directory);
    const index = new CollectionIndex(this.#ports.index, collection, projection, changed);
    let made: Promise<void> | undefined;
    return new FileLogStore({
      ...this.#ports,
      collection,
      directory,
      index,
      isShared: directory === this.#ports.home,
      journal: this.#journal,
      recent: this.#recent,
      makeDirectory: () => {
        made ??= makeDirectory(this.#ports.disk, directory).catch((error) => {
          made = undefined;
          throw error;
        });
        return made;
      },
      report: (report) => this.#report(collection, report),
      damage: (key, damage) => {
        index.markDamaged(key);
        this.#report(collection, damageReport(key, damage));
      },
    });
  }

  /** Writes a small file, syncs it and removes it. Then the journal says whether it could be written. */
  async ready(): Promise<void> {
    this.#assertOpen();
    try {
      this.#ports.guard();
    } catch (cause) {
      const code = isThroughlineError(cause) ? cause.code : "THROUGHLINE_UNAVAILABLE";
      const message = "this process is no longer the writer of its home";
      throw new ThroughlineError(message, { code, cause });
    }
    const { disk, newId } = this.#ports;
    const path = temporaryName(join(this.#ports.home, "ready.json"), newId);
    try {
      const file = await disk.open(path, "create");
      try {
        await writeAll(file, Buffer.alloc(4096, " "), 0);
        await file.sync();
      } finally {
        await file.close();
        await disk.unlink(path);
      }
    } catch (cause) {
      const isFull = isCode(cause, "ENOSPC", "EDQUOT");
      const { code } = cause as { code?: unknown };
      throw unavailable(
        isFull ? "the disk is full" : `the disk refuses what is stored (${String(code)})`,
        cause,
      );
    }
    await this.#journal.ready();
  }

  repairs(): readonly RepairReport[] {
    return [...this.#repairs];
  }

  onRepair(listener: (report: RepairReport) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.leases.close();
    // All at once: from this moment on none of them takes another call. Then all have ended.
    const stores = [...this.#logs.values(), ...this.#documents.values(), ...this.#files.values()];
    const closing = stores.map((store) => store.close());
    await Promise.allSettled(closing);
    await this.#journal.segments.close();
    while (this.#writing.size > 0) await Promise.all(this.#writing);
    this.#isReleased = true;
    await this.#ports.release();
    await Promise.all(closing);
  }

  /** @returns whether the home was used before. */
  async #prepare(): Promise<boolean> {
    const { home, disk } = this.#ports;
    try {
      await makeDirectory(disk, home);
      const inHome = await this.#removeTemporary(home);
      const folders = inHome.filter(({ kind }) => kind === "directory");
      for (const { name, kind } of inHome) if (kind !== "directory") this.#noFolders.add(name);
      for (const name of [quarantineFolder, journalFolder, "feedback"]) {
        this.#assertFolder(name);
      }
      // All of them have ended before one that failed is reported: then the home is let go of.
      const sweeps = folders.map(({ name }) => this.#sweep(name));
      await Promise.allSettled(sweeps);
      await Promise.all(sweeps);
      return folders.length > 0;
    } catch (cause) {
      if (isThroughlineError(cause)) throw cause;
      const code = isCode(cause, "ENOTDIR", "EACCES", "EPERM", "EROFS", "ELOOP", "ENAMETOOLONG")
        ? "THROUGHLINE_CONFIGURATION"
        : "THROUGHLINE_UNAVAILABLE";
      throw new ThroughlineError(
        `the home ${home} cannot be used (${String((cause as { code?: unknown }).code)}): ` +
          "it must be a directory that this user can write: see to its owner and its permissions, " +
          "or name another one with --home",
        { code, cause },
      );
    }
  }

  /** A folder of logs may be large: it is not read where the index says that nothing was left in it. */
  async #sweep(folder: string): Promise<void> {
    const directory = join(this.#ports.home, folder);
    const { index, directoryChanged } = this.#ports;
    const coverage = coverageOf(index, folder, directoryChanged(directory));
    if (coverage === "all" || coverage === "covered") await syncNames(this.#ports, directory);
    else await this.#removeTemporary(directory);
  }

  /**
   * Removes the temporary files of dead processes, and makes the other names durable.
   *
   * @returns what it found in the directory.
   */
  async #removeTemporary(directory: string): Promise<readonly DiskEntry[]> {
    const { disk } = this.#ports;
    const listing = await disk.list(directory);
    for (const { name, kind } of listing) {
      if (kind === "file" && isTemporaryName(name)) await disk.unlink(join(directory, name));
    }
    await syncNames(this.#ports, directory);
    return listing;
  }

  /** A report that is being written is forgotten too. */
  async #forgetQuarantine(path: string): ReturnType<HomePorts["forgetQuarantine"]> {
    await Promise.all(this.#writing);
    return this.#quarantine.forget(path);
  }

  #report(collection: string, report: NewReport): void {
    // A read may outlive the storage: the home is another process's then, which finds the damage itself.
    if (this.#isReleased) return;
    const key = `${collection}/${report.key}`;
    // The same damage is met at every reading: it is news once.
    const identity = JSON.stringify([key, report.kind, report.bytes, report.after_seq]);
    if (this.#reported.has(identity)) return;
    this.#reported.add(identity);
    const full = { at: isoTime(this.#ports.clock.now()), ...report, key };
    this.#repairs.push(full);
    if (this.#repairs.length > 1_000) this.#repairs.shift();
    this.#ports.logger.warn({ repair: full }, "stored bytes were not as they were left");
    const end = report.kind === "unreadable_document" ? "json" : "jsonl";
    const file = join(collection, `${fileNameOf(report.key)}.${end}`);
    const kept = this.#quarantine
      .keepReport({ ...full, file })
      .finally(() => this.#writing.delete(kept));
    this.#writing.add(kept);
    callBack(this.#listeners, this.#ports.logger, full);
  }

  /** A folder that is a link would be written wherever the link leads, where the lock does not hold. */
  #assertFolder(collection: string): void {
    if (!this.#noFolders.has(collection)) return;
    const path = join(this.#ports.home, collection);
    throw misconfigured(
      `${path} is not a folder but a link, a file, a pipe or the like: put the folder itself there`,
    );
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw closed();
  }
}

export function damageReport(key: string, damage: Damage): NewReport {
  const bytes = damage.end - damage.start;
  return {
    key,
    kind: "damaged_middle",
    bytes,
    after_seq: damage.afterSeq,
    reason:
      bytes > 0
        ? `${bytes} bytes at offset ${damage.start} are not what was written; they are left there`
        : `the batches before and after offset ${damage.start} do not belong together`,
  };
}
