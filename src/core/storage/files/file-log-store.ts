import {
  checkEnd,
  checkIds,
  checkList,
  checkPage,
  checkRead,
  checkSame,
  checkSearch,
  checkTail,
  isErased,
  type PreparedBatch,
  prepareBatch,
  prepareErasure,
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
  type PreparedAppend,
  type SearchHit,
  type SearchOptions,
  type StoredRecord,
} from "../log-store.ts";
import { recordsOf } from "./batch-reader.ts";
import type { IndexHit } from "./collection-index.ts";
import { deletedPerhaps, logTemporary, rethrow, syncNames, unlinkIfThere } from "./file-ports.ts";
import type { LogFile, LogPorts } from "./log-file.ts";
import { OpenLogs } from "./open-logs.ts";
import { areNamesKnown, compare, reportUnreadable } from "./reconcile.ts";
import { rewriteLog } from "./rewrite.ts";

/** The file driver's logs: one file per log in one directory, and an index beside them. */
export class FileLogStore implements LogStore {
  readonly #ports: LogPorts;
  readonly #logs: OpenLogs;
  /** Settles when lists and search know every log; says whether the index has them all. */
  #reconciled: Promise<boolean> | undefined;
  /** The same once all logs were compared with the index, which may happen in the background. */
  #comparing: Promise<boolean> = Promise.resolve(false);
  /** So many logs are out of the index for a moment, because their words are removed. */
  #removing = 0;
  #removed: Promise<unknown> = Promise.resolve();
  #closing = false;
  /** When a name in the directory had last changed before it was compared. */
  #comparedAt: string | undefined;

  constructor(ports: LogPorts) {
    this.#ports = ports;
    this.#logs = new OpenLogs(ports);
    ports.index.onDoubt = () => this.#compareAgain();
    this.#ready().catch(() => undefined); // the next listing tries again and gets the error
  }

  append(key: string, records: readonly LogRecord[], options: AppendOptions = {}): Promise<number> {
    let batch: PreparedBatch;
    try {
      batch = prepareBatch(key, records, options);
    } catch (error) {
      return Promise.reject(error);
    }
    const made = this.#logs.alone(key, () => this.#append(batch));
    return made.then(({ stored }) => stored);
  }

  opened(key: string): LogFile | undefined {
    const log = this.#logs.free(key);
    return log === undefined || log.last.seq === 0 ? undefined : log;
  }

  commit(key: string, made: PreparedAppend): Promise<void> | undefined {
    const log = this.opened(key);
    const { records, lines, givenIds, head, headJson } = made;
    if (log === undefined || log.last.seq + 1 !== records[0]?.seq || log.place() !== "own") return;
    const { index, directory, unsyncedNames } = this.#ports;
    if (index.file.isFar || unsyncedNames.has(directory)) return;
    for (const id of givenIds) if (log.mayHold(id)) return;
    this.#ports.guard();
    return log.append({ lines, headJson, head, ids: records.map(({ id }) => id) });
  }

  async tail(key: string, limit: number): Promise<LogTail | undefined> {
    checkTail(key, limit);
    return this.#logs.read(key, async (log) => {
      if (log === undefined || (log.stored.seq === 0 && !log.damaged)) return undefined;
      const { seq, headJson } = log.stored;
      const head = JSON.parse(headJson) as LogHead; // the reader's own
      const records = await log.newest(limit, { maxBytes: logLimits.pageBytes });
      return { seq, head, records, damaged: log.damaged };
    });
  }

  async page(key: string, options: PageOptions): Promise<readonly StoredRecord[]> {
    checkPage(key, options);
    const { before, after, limit, isShared } = options;
    return this.#logs.read(key, async (log) => {
      if (log === undefined) return [];
      const seek = (seq: number) => this.#ports.index.seek(key, seq);
      if (after !== undefined) {
        return after >= log.stored.seq ? [] : log.pageAfter(after, limit, seek(after + 1));
      }
      return log.newest(limit, { before, seek, maxBytes: logLimits.pageBytes, isShared });
    });
  }

  async *read(key: string, options: { readonly after?: number } = {}): AsyncIterable<StoredRecord> {
    const after = options.after === undefined ? 0 : options.after;
    checkRead(key, after);
    // Held from the moment that the place in it is looked up: erasing makes a new file.
    const held = await this.#logs.read(key, async (log) => {
      if (log === undefined || after >= log.stored.seq) return undefined;
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
    return (await this.findAll(key, [id])).get(id);
  }

  async findAll(key: string, ids: readonly string[]): Promise<ReadonlyMap<string, StoredRecord>> {
    checkIds(key, ids);
    return this.#logs.read(key, async (log) => {
      return log === undefined ? new Map() : this.#withIds(log, ids);
    });
  }

  async erase(key: string, ids: readonly string[], options?: EraseOptions): Promise<number> {
    const erasure = prepareErasure(key, ids, options);
    return this.#logs.alone(key, async () => {
      await this.#logs.caughtUp(key);
      await this.#ports.journal.segments.settle(); // it could bring back what is not there to be erased
      const log = await this.#logs.writable(key);
      checkEnd(log?.last.seq ?? 0, erasure.expectedSeq);
      if (log === undefined) return 0;
      const { headJson } = erasure;
      const wanted = await this.#unerased(log, erasure.ids);
      // Damaged bytes and quarantine are evidence: they do not go for nothing.
      const isHeadKept = headJson === undefined || headJson === log.stored.headJson;
      if (wanted.size === 0 && isHeadKept) return 0;
      this.#ports.guard();
      let damaged = 0;
      await this.#uncovered(async () => {
        // A copy, what is derived or set aside goes first: as long as any of it is left, so is the record.
        await this.#ports.journal.segments.empty();
        damaged = (await this.#ports.forgetQuarantine(log.path)).bytes;
        try {
          await this.#removeFromIndex(key);
          damaged += await rewriteLog(this.#ports, log, wanted, headJson ?? log.stored.headJson);
        } finally {
          await this.#logs.shut(key).catch(() => undefined); // nothing was written through it
          // The one way in: the index follows the file that is there now. What is erased is erased, should
          // this fail; then the next call opens it.
          await this.#logs.opened(key).catch(() => undefined);
        }
      });
      if (damaged > 0) options?.onDamageRemoved?.(damaged);
      return wanted.size;
    });
  }

  async delete(key: string): Promise<boolean> {
    checkKey(key, "key", logLimits.keyBytes);
    return this.#logs.alone(key, async () => {
      this.#ports.guard();
      await this.#logs.shut(key);
      return this.#uncovered(() => this.#delete(key));
    });
  }

  async #delete(key: string): Promise<boolean> {
    const path = this.#logs.path(key);
    await this.#ports.journal.segments.empty();
    // The log's file goes after what was set aside of it, so that as long as anything is left, the
    // log is there to be deleted again.
    let existed = (await this.#ports.forgetQuarantine(path)).files > 0;
    try {
      await unlinkIfThere(this.#ports.disk, logTemporary(path));
      if (await unlinkIfThere(this.#ports.disk, path)) existed = true;
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
  }

  async list(options: ListOptions): Promise<ListPage> {
    checkList(options);
    this.#logs.assertOpen();
    await this.#ready();
    return this.#ports.index.list(options);
  }

  async search(query: string, options: SearchOptions): Promise<readonly SearchHit[]> {
    checkSearch(query, options);
    const { limit } = options;
    const { index } = this.#ports;
    let doubts: number;
    do {
      this.#logs.assertOpen();
      await this.#ready();
      ({ doubts } = index);
      await index.file.catchUp().catch((error: unknown) => {
        if (doubts === index.doubts) throw error;
      });
    } while (doubts !== index.doubts); // it was begun again, or lacks something that the journal does not hold
    // Of what it found some may be unreadable or damaged: then more is looked for.
    for (let most = limit; ; most *= 2) {
      const hits: SearchHit[] = [];
      const found = index.search(query, { ...options, limit: most });
      for (const [key, inLog] of Map.groupBy(found, (hit) => hit.key)) {
        for (const record of await this.#foundIn(key, inLog)) hits.push({ key, record });
      }
      if (hits.length >= limit || found.length < most) return hits.slice(0, limit);
    }
  }

  /** The records of one log that search found. None where the log cannot be read, which is reported. */
  async #foundIn(key: string, hits: readonly IndexHit[]): Promise<readonly StoredRecord[]> {
    try {
      return await this.#logs.read(key, (log) =>
        log === undefined
          ? Promise.resolve([])
          : this.#at(
              log,
              hits.map(({ seq }) => seq),
            ),
      );
    } catch (error) {
      reportUnreadable(this.#ports, key, error);
      return [];
    }
  }

  /** The records with these numbers, newest first. */
  #at(log: LogFile, seqs: readonly number[]): Promise<StoredRecord[]> {
    return log.at(seqs, (seq) => this.#ports.index.seek(log.key, seq));
  }

  /** The newest readable record with each of these ids. */
  async #withIds(log: LogFile, ids: readonly string[]): Promise<Map<string, StoredRecord>> {
    const wanted = new Set(ids);
    const seqs = [...wanted].flatMap((id) => this.#ports.index.find(log.key, id));
    const found = new Map<string, StoredRecord>();
    for (const record of await this.#at(log, seqs)) {
      if (wanted.has(record.id) && !found.has(record.id)) found.set(record.id, record);
    }
    return found;
  }

  /** Every key of this collection. */
  async keys(): Promise<readonly string[]> {
    await this.#ready();
    return [...this.#ports.index.keys()].sort();
  }

  /** The index may lack something of the logs, or is empty: they are compared with it again. */
  #compareAgain(): void {
    if (this.#closing) return;
    this.#reconciled = undefined;
    this.#ready().catch(() => undefined); // the next listing tries again and gets the error
  }

  /** Finishes what was accepted, syncs it, and lets go of every file. */
  async close(): Promise<void> {
    this.#closing = true;
    await this.#logs.close(this.#reconciled);
    if (!(await this.#comparing) || this.#removing > 0) return;
    const changed = this.#ports.directoryChanged(this.#ports.directory);
    if (changed === undefined) return;
    // Other programs may have changed names too: then the next start compares them.
    const isKnown = changed === this.#comparedAt || (await areNamesKnown(this.#ports));
    if (isKnown !== undefined) this.#ports.index.comparedAt = isKnown ? changed : "by others";
  }

  /** Resolves when lists and search know every log: at once after most starts. Tried again if it fails. */
  async #ready(): Promise<void> {
    let ready: Promise<boolean>;
    do {
      ready = this.#reconciled ?? this.#begin();
      await ready;
    } while (ready !== this.#reconciled); // while the index was begun again
  }

  #begin(): Promise<boolean> {
    const reconciled = this.#reconcile().catch((error) => {
      if (this.#reconciled === reconciled) this.#reconciled = undefined;
      return rethrow("the logs", error);
    });
    this.#reconciled = reconciled;
    this.#cover();
    return reconciled;
  }

  async #reconcile(): Promise<boolean> {
    await this.#removed; // which may need the room that the index would take
    const { index, journal, collection, directory } = this.#ports;
    const { coverage } = index;
    this.#comparedAt = this.#ports.directoryChanged(directory);
    if (coverage !== "all") journal.segments.recovered.tell(collection, index);
    // What other programs did in the meantime is found in the background.
    const isCovered = coverage === "covered";
    const isOver = () => isCovered && this.#closing;
    const isKnown = coverage === "all" || compare(this.#ports, this.#logs, isOver);
    this.#comparing = Promise.resolve(isKnown).catch(() => false);
    return isCovered || isKnown;
  }

  /** Notes whether the index has every log, unless one is out of it for a moment. */
  #cover(): void {
    const reconciled = this.#reconciled;
    void reconciled?.then(
      (isKnown) => {
        const isOver = this.#removing > 0 || reconciled !== this.#reconciled;
        return isOver ? undefined : this.#note(isKnown);
      },
      () => undefined, // the caller that lists gets the error
    );
  }

  #note(isCovered: boolean): Promise<void> {
    return this.#ports.index.file.cover(this.#ports.collection, isCovered);
  }

  /** @returns what settles when the batch is stored: others need not wait for that to append. */
  async #append(batch: PreparedBatch): Promise<{ readonly stored: number | Promise<number> }> {
    const { index } = this.#ports;
    await index.file.room();
    const log = await this.#logs.writable(batch.key);
    if (log !== undefined && batch.records.some(({ id }) => log.comingIds.has(id))) {
      await log.caughtUp();
      return this.#append(batch);
    }
    const given = batch.hasNewIds ? [] : batch.records.map(({ id }) => id);
    const isNew = log === undefined || given.every((id) => index.find(batch.key, id).length === 0);
    const known = isNew ? undefined : await this.#withIds(log, given);
    const seq = log?.last.seq ?? 0;
    const ids: string[] = [];
    let lines = "";
    let last = 0;
    for (const record of batch.records) {
      const stored = known?.get(record.id);
      last = stored === undefined ? 0 : stored.seq;
      if (stored === undefined) {
        ids.push(record.id);
        lines += `${storedLine(record.json, seq + ids.length)}\n`;
      } else checkSame(stored, record);
    }
    if (ids.length === 0) return { stored: last };
    checkEnd(seq, batch.expectedSeq);
    const headJson = batch.headJson ?? log?.last.headJson ?? "{}";
    const { directory, unsyncedNames } = this.#ports;
    if (unsyncedNames.has(directory)) await syncNames(this.#ports, directory);
    this.#ports.guard();
    if (log === undefined) await this.#ports.makeDirectory();
    const stored = (log ?? this.#logs.begun(batch.key)).append({ lines, headJson, ids });
    const end = last === 0 ? seq + ids.length : last;
    return { stored: stored.then(() => end) };
  }

  /**
   * Does what takes a log out of its folder or its index for a moment. Should the process die or this fail,
   * the next start compares all logs with the index.
   */
  async #uncovered<T>(work: () => Promise<T>): Promise<T> {
    this.#removing++;
    await this.#note(false);
    const working = work();
    this.#removed = Promise.allSettled([this.#removed, working]);
    const result = await working;
    this.#removing--;
    this.#cover();
    return result;
  }

  /** Forgets a log in the index down to its bytes. */
  async #removeFromIndex(key: string): Promise<void> {
    await this.#ports.index.remove(key);
    await this.#ports.index.file.erase();
  }

  /** Those of the ids that the log holds and that still have their content. */
  async #unerased(log: LogFile, ids: readonly string[]): Promise<ReadonlySet<string>> {
    const records = await this.#withIds(log, ids);
    return new Set([...records].flatMap(([id, record]) => (isErased(record) ? [] : id)));
  }
}
