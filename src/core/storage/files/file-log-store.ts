import { setImmediate as nextPass } from "node:timers/promises";
import { ThroughlineError } from "../../errors.ts";
import {
  checkIds,
  checkList,
  checkPage,
  checkRead,
  checkSearch,
  checkTail,
  isErased,
  type PreparedBatch,
  type PreparedRecord,
  prepareBatch,
  prepareErasure,
  sameRecord,
  storedLine,
} from "../batch.ts";
import { checkKey } from "../key.ts";
import {
  type AppendOptions,
  type EraseOptions,
  type ListOptions,
  type ListPage,
  type LogHead,
  type LogRecord,
  type LogStore,
  type LogTail,
  logLimits,
  type PageOptions,
  type SearchHit,
  type SearchOptions,
  type StoredRecord,
} from "../log-store.ts";
import { recordsOf } from "./batch-reader.ts";
import { ReadBatches, recordsFrom } from "./batch-records.ts";
import {
  deletedPerhaps,
  isCode,
  rethrow,
  syncNames,
  unavailable,
  unlinkIfThere,
} from "./file-ports.ts";
import { IndexPace } from "./index-pace.ts";
import { type Appended, LogFile } from "./log-file.ts";
import type { IndexHit } from "./log-index.ts";
import { type FileLogStorePorts, OpenLogs, type Slot } from "./open-logs.ts";
import { areLogsOf, namesOf, type Reconciled, reconcile, reportUnreadable } from "./reconcile.ts";
import { rewriteLog } from "./rewrite.ts";
import { WrittenBatch } from "./written-batch.ts";

/** The file driver's logs: one file per log in one directory, and an index beside them. */
export class FileLogStore implements LogStore {
  readonly #ports: FileLogStorePorts;
  readonly #logs: OpenLogs;
  #reconciled: Promise<Reconciled> | undefined;
  readonly #pace: IndexPace;
  readonly #whileSyncing = () => this.#pace.whileSyncing();

  constructor(ports: FileLogStorePorts) {
    this.#ports = ports;
    this.#logs = new OpenLogs(ports);
    this.#pace = new IndexPace(ports.index, ports.timers);
    this.#ready().catch(() => undefined); // the next listing tries again and gets the error
  }

  append(key: string, records: readonly LogRecord[], options: AppendOptions = {}): Promise<number> {
    let batch: PreparedBatch;
    try {
      batch = prepareBatch(key, records, options);
    } catch (error) {
      return Promise.reject(error);
    }
    return this.#pace.during(this.#logs.alone(key, (slot) => this.#append(slot, batch)));
  }

  async tail(key: string, limit: number): Promise<LogTail | undefined> {
    checkTail(key, limit);
    return this.#logs.read(key, async (log) => {
      if (log === undefined || (log.seq === 0 && !log.damaged)) return undefined;
      const { seq } = log;
      const head = JSON.parse(log.headJson) as LogHead; // the reader's own
      const records = await log.tail(limit);
      return { seq, head, records, damaged: log.damaged };
    });
  }

  async page(key: string, options: PageOptions): Promise<readonly StoredRecord[]> {
    checkPage(key, options);
    const { before, after, limit } = options;
    return this.#logs.read(key, async (log) => {
      if (log === undefined) return [];
      const from = (seq: number) => this.#ports.index.seek(key, seq);
      if (after !== undefined) {
        return after >= log.seq ? [] : log.pageAfter(after, limit, from(after + 1));
      }
      return before === undefined
        ? log.newestPage(limit)
        : log.pageBefore(before, limit, from(before));
    });
  }

  async *read(key: string, options: { readonly after?: number } = {}): AsyncIterable<StoredRecord> {
    const after = options.after === undefined ? 0 : options.after;
    checkRead(key, after);
    // Held from the moment that the place in it is looked up: erasing makes a new file.
    const held = await this.#logs.read(key, async (log) => {
      if (log === undefined || after >= log.seq) return undefined;
      log.hold();
      return { log, batches: log.batches(this.#ports.index.seek(key, after + 1)) };
    });
    if (held === undefined) return;
    try {
      for await (const batch of held.batches) {
        for (const record of recordsOf(batch)) if (record.seq > after) yield record;
      }
    } finally {
      await held.log.release();
    }
  }

  async find(key: string, id: string): Promise<StoredRecord | undefined> {
    checkIds(key, [id]);
    return this.#logs.read(key, async (log) => {
      const place = log === undefined ? undefined : this.#ports.index.find(key, id);
      if (log === undefined || place === undefined) return undefined;
      const [record] = await log.pageAfter(place.seq - 1, 1, place.start);
      return record?.id === id ? record : undefined;
    });
  }

  async erase(key: string, ids: readonly string[], options?: EraseOptions): Promise<number> {
    const erasure = prepareErasure(key, ids, options);
    return this.#logs.alone(key, async (slot) => {
      const log = await this.#logs.writable(slot);
      checkEnd(key, log, erasure.expectedSeq);
      if (log === undefined) return 0;
      const { headJson } = erasure;
      const wanted = await this.#unerased(log, erasure.ids);
      // Damaged bytes and quarantine are evidence: they do not go for nothing.
      const isHeadKept = headJson === undefined || headJson === log.headJson;
      if (wanted.size === 0 && isHeadKept) return 0;
      this.#ports.guard();
      // A copy, what is derived or set aside goes first: as long as any of it is left, so is the record.
      await this.#ports.journal?.empty();
      let damaged = (await this.#ports.forgetQuarantine(log.path)).bytes;
      await this.#removeFromIndex(key);
      try {
        damaged += await rewriteLog(this.#ports, log, wanted, headJson ?? log.headJson);
      } catch (error) {
        throw diskFull(log, error);
      } finally {
        slot.log = undefined;
        await log.close().catch(() => undefined); // nothing was written through it
      }
      // The one way in: the index follows the file that is there now. What is erased is erased, should
      // this fail; then the next call opens it.
      await this.#logs.opened(slot).catch(() => undefined);
      if (damaged > 0) options?.onDamageRemoved?.(damaged);
      return wanted.size;
    });
  }

  async delete(key: string): Promise<boolean> {
    checkKey(key, "key", logLimits.keyBytes);
    return this.#logs.alone(key, async (slot) => {
      this.#ports.guard();
      const { log } = slot;
      slot.log = undefined;
      await log?.close();
      const path = this.#logs.path(key);
      await this.#ports.journal?.empty();
      // The log's file goes after what was set aside of it, so that as long as anything is left, the
      // log is there to be deleted again.
      let existed = (await this.#ports.forgetQuarantine(path)).files > 0;
      try {
        if (await unlinkIfThere(this.#ports.disk, path)) existed = true;
        this.#ports.cuts.delete(path);
        const { directory, unsyncedNames } = this.#ports;
        // An earlier call may have taken the name away, and not for good.
        existed ||= this.#ports.index.entry(key) !== undefined;
        if (existed || unsyncedNames.has(directory)) await syncNames(this.#ports, directory);
        await this.#removeFromIndex(key);
      } catch (cause) {
        this.#ports.unsyncedNames.add(this.#ports.directory); // the name is perhaps gone, not for good
        throw deletedPerhaps(key, cause);
      }
      return existed;
    });
  }

  async list(options: ListOptions): Promise<ListPage> {
    checkList(options);
    this.#logs.assertOpen();
    await this.#ready();
    return this.#ports.index.list(options);
  }

  async search(query: string, options: SearchOptions): Promise<readonly SearchHit[]> {
    checkSearch(query, options);
    this.#logs.assertOpen();
    await this.#ready();
    await this.#pace.beforeSearch();
    const { limit } = options;
    // Of what it found some may be unreadable or damaged: then more is looked for.
    for (let most = limit; ; most *= 2) {
      const hits: SearchHit[] = [];
      const found = this.#ports.index.search(query, { ...options, limit: most });
      for (const [key, inLog] of Map.groupBy(found, (hit) => hit.key)) {
        for (const record of await this.#foundIn(key, inLog)) hits.push({ key, record });
      }
      if (hits.length >= limit || found.length < most) return hits.slice(0, limit);
    }
  }

  /** The records of one log that search found. None where the log cannot be read, which is reported. */
  async #foundIn(key: string, hits: readonly IndexHit[]): Promise<readonly StoredRecord[]> {
    try {
      return await this.#logs.read(key, (log) => this.#records(log, hits));
    } catch (error) {
      reportUnreadable(this.#ports, key, error);
      return [];
    }
  }

  /** Those of these records that the log holds, newest first. Reads what they share once. */
  async #records(log: LogFile | undefined, hits: readonly IndexHit[]): Promise<StoredRecord[]> {
    if (log === undefined) return [];
    // As in `read`, held from the moment that the places in it are looked up.
    const places = Map.groupBy(hits, ({ key, seq }) => this.#ports.index.seek(key, seq));
    log.hold();
    try {
      const records: StoredRecord[] = [];
      for (const [start, sharing] of places) {
        records.push(...(await recordsFrom(log, start, new Set(sharing.map(({ seq }) => seq)))));
      }
      return records.sort((a, b) => b.seq - a.seq);
    } finally {
      await log.release();
    }
  }

  /**
   * Reads every batch of a log and checks every seal.
   *
   * @returns how many records are readable; damage is reported as it is met.
   */
  async verify(key: string): Promise<number> {
    checkKey(key, "key", logLimits.keyBytes);
    return this.#logs.read(key, async (log) => {
      let count = 0;
      if (log !== undefined) {
        for await (const batch of log.batches(0)) count += batch.commit.count;
      }
      return count;
    });
  }

  /** Every key of this collection. */
  async keys(): Promise<readonly string[]> {
    await this.#ready();
    return [...this.#ports.index.keys()].sort();
  }

  /** The index was lost and recreated, empty: it is filled again from the logs. */
  indexLost(): void {
    this.#logs.indexLost();
    this.#reconciled = undefined;
    this.#ready().catch(() => undefined); // the next listing tries again and gets the error
  }

  /** Finishes what was accepted, syncs it, and lets go of every file. */
  async close(): Promise<void> {
    await this.#logs.close(this.#reconciled);
    this.#pace.close();
    this.#ports.index.flush();
    const reconciled = await this.#reconciled?.catch(() => undefined);
    const isBehind = reconciled === undefined || reconciled === "a log is unreadable";
    // Names of which one is no log of ours are not noted, so that it is reported at the next start too.
    const names = reconciled === "every log is known" ? await this.#names() : undefined;
    this.#ports.index.noteNames(names, isBehind);
  }

  /** What stands for the names of the logs, if the index knows each of them. */
  async #names(): Promise<string | undefined> {
    try {
      const listing = await this.#ports.disk.list(this.#ports.directory);
      return areLogsOf(this.#ports.index.keys(), listing) ? namesOf(listing) : undefined;
    } catch {
      return undefined; // the next start will compare them
    }
  }

  /** Settles when lists and search know every log: soon after a clean exit. Tried again if it fails. */
  #ready(): Promise<Reconciled> {
    this.#reconciled ??= reconcile(this.#ports, (key) => this.#logs.open(key)).catch((error) => {
      this.#reconciled = undefined;
      return rethrow("the logs", error);
    });
    return this.#reconciled;
  }

  async #append(slot: Slot, batch: PreparedBatch): Promise<number> {
    const { index } = this.#ports;
    const log = await this.#logs.writable(slot);
    const fresh: PreparedRecord[] = [];
    const batches = new ReadBatches();
    let last = 0;
    for (const record of batch.records) {
      const known = log && index.find(batch.key, record.id);
      const isStored = log && known && (await this.#isStored(log, record, known, batches));
      if (!isStored) fresh.push(record);
      last = isStored ? known.seq : 0;
    }
    if (fresh.length === 0) return last;
    checkEnd(batch.key, log, batch.expectedSeq);
    const seq = log?.seq ?? 0;
    const lines = fresh.reduce(
      (all, { json }, i) => `${all}${storedLine(json, seq + 1 + i)}\n`,
      "",
    );
    const headJson = batch.headJson ?? log?.headJson ?? "{}";
    const start = log?.end ?? 0;
    this.#ports.guard();
    const written = await this.#write(slot, log, { lines, count: fresh.length, headJson });
    const ids = fresh.map(({ id }) => id);
    index.add(new WrittenBatch(written, start, ids, lines));
    return last === 0 ? seq + fresh.length : last;
  }

  /** @returns the log that was written to. */
  async #write(slot: Slot, log: LogFile | undefined, batch: Appended): Promise<LogFile> {
    const written = { ...batch, whileSyncing: this.#whileSyncing };
    try {
      if (log !== undefined) {
        await log.append(written);
        return log;
      }
      await this.#ports.makeDirectory();
      const path = this.#logs.path(slot.key);
      slot.log = await LogFile.create(this.#ports, path, slot.key, written);
      void this.#logs.closeLeastUsed();
      return slot.log;
    } catch (error) {
      // The only repair path is to reopen: that also finds out whether the batch is there.
      slot.log = undefined;
      await log?.close().catch(() => undefined); // the write that failed is the news
      throw error;
    }
  }

  /** Forgets a log in the index down to its bytes, without keeping others waiting. */
  async #removeFromIndex(key: string): Promise<void> {
    this.#ports.index.remove(key, "later");
    while (this.#ports.index.erase()) await nextPass();
  }

  /** Those of the ids that the log holds and that still have their content. */
  async #unerased(log: LogFile, ids: readonly string[]): Promise<ReadonlySet<string>> {
    const found = new Set<string>();
    const batches = new ReadBatches();
    for (const id of ids) {
      const place = this.#ports.index.find(log.key, id);
      if (place === undefined) continue;
      const record = await batches.record(log, place);
      if (record?.id === id && !isErased(record)) found.add(id);
    }
    return found;
  }

  /**
   * Whether the log still holds this record. One that damage took may be stored again under its id.
   *
   * @throws ThroughlineError `THROUGHLINE_ID_CONFLICT`: it holds another one with this id.
   */
  async #isStored(
    log: LogFile,
    record: PreparedRecord,
    known: { readonly seq: number; readonly start: number },
    batches: ReadBatches,
  ): Promise<boolean> {
    const stored = await batches.record(log, known);
    if (stored === undefined) return false;
    if (isErased(stored)) return true;
    const { seq: _, ...content } = stored;
    if (sameRecord(JSON.stringify(content), record.json)) return true;
    throw new ThroughlineError(`${log.key} has a record with this id and other content`, {
      code: "THROUGHLINE_ID_CONFLICT",
    });
  }
}

function diskFull({ key, end }: LogFile, error: unknown): unknown {
  if (!isCode(error, "ENOSPC", "EDQUOT")) return error;
  return unavailable(
    `${key}: the disk is full. Erasing rewrites the log, which needs ${end} bytes of free space. ` +
      "Deleting the whole log needs none",
    error,
  );
}

/** @throws ThroughlineError `THROUGHLINE_CONFLICT`: the log does not end where it is expected to. */
function checkEnd(key: string, log: LogFile | undefined, expectedSeq: number | undefined): void {
  const seq = log?.seq ?? 0;
  if (expectedSeq === undefined || expectedSeq === seq) return;
  throw new ThroughlineError(`${key} ends at record ${seq}, not at ${expectedSeq}`, {
    code: "THROUGHLINE_CONFLICT",
  });
}
