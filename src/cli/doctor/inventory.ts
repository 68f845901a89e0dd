// Everything that a home may have, and every reference that a record makes, compared with the index.
import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as wait } from "node:timers/promises";
import { isThroughlineError } from "../../core/errors.ts";
import type { Disk, DiskFile } from "../../core/storage/disk/disk.ts";
import {
  type Batch,
  batchesForward,
  type Damage,
  readExactly,
  recordsOf,
} from "../../core/storage/files/batch-reader.ts";
import { headOf } from "../../core/storage/files/commit.ts";
import { decodeDocument } from "../../core/storage/files/document-file.ts";
import { fileNameOf, keyOfFileName } from "../../core/storage/files/file-name.ts";
import { isDiskError, readFrom } from "../../core/storage/files/file-ports.ts";
import { damageReport } from "../../core/storage/files/file-storage.ts";
import type { IndexEntry } from "../../core/storage/files/index-writer.ts";
import { mayBeOurs } from "../../core/storage/files/log-end.ts";
import { type Finding, findingId } from "../../core/storage/files/quarantine.ts";
import { olderCopy } from "../../core/storage/files/reconcile.ts";
import {
  endOfLog,
  hashInName,
  isDocument,
  isLog,
  listHome,
  sha256Of,
  unlessAbsent,
} from "./home-files.ts";

/** Logs as the index knows them, by their path in the home. */
export type IndexedLogs = ReadonlyMap<string, IndexEntry & { readonly key: string }>;

/** JSON, though no document. */
const consent = "consent.json";

/** Where only logs of ours have such names. */
const ownLogs = /^(chats|forgotten|langgraph|claude)\/|^(runs|moods|moves)\.jsonl$/;

/** What an index says of all logs; nothing if there is none. Another process may be writing it. */
export function readIndex(home: string): IndexedLogs {
  const logs = new Map<string, IndexEntry & { readonly key: string }>();
  const path = join(home, "index.db");
  if (!existsSync(path)) return logs;
  try {
    // One that may only read leaves files of SQLite behind.
    using database = new DatabaseSync(path);
    const rows = "select collection, key, seq, end_offset, crc from logs";
    for (const row of database.prepare(rows).iterate()) {
      const key = String(row["key"]);
      const end = Number(row["end_offset"]);
      const log = join(String(row["collection"]), `${fileNameOf(key)}.jsonl`);
      if (end > 0) logs.set(log, { key, seq: Number(row["seq"]), end, crc: String(row["crc"]) });
    }
  } catch {
    return new Map(); // derived: a start makes it again
  }
  return logs;
}

/** A home, or its copy. */
interface Files {
  readonly disk: Disk;
  readonly folder: string;
  readonly index: IndexedLogs;
  /** Whether there is a file at this path. */
  readonly has: (path: string) => boolean | Promise<boolean>;
  readonly signal: AbortSignal;
}

/** Reads the files of a home, or of its copy, one after the other, and gathers what is wrong. */
class Inventory {
  readonly found: Finding[] = [];
  readonly count = { logs: 0, records: 0, documents: 0, attachments: 0 };
  readonly #files: Files;
  /** The number of the record that names an attachment, by the attachment's path. */
  readonly #named = new Map<string, number>();
  #runs = 0;

  constructor(files: Files) {
    this.#files = files;
  }

  /** Adds one file, if it is one that is read. */
  async add(path: string): Promise<void> {
    const { disk, folder } = this.#files;
    const hash = hashInName(path);
    if (hash === undefined && !isLog(path) && !isDocument(path) && path !== consent) return;
    try {
      await readFrom(disk, join(folder, path), async (file) => {
        const size = await file.size();
        if (hash !== undefined) await this.#addAttachment(path, file, size, hash);
        else if (isLog(path)) await this.#addLog(path, file, (await endOfLog(file)) ?? size);
        else await this.#addDocument(path, file, size);
      });
    } catch (error) {
      if (!isDiskError(error)) throw error;
      this.#find(path, "unreadable_log", `the disk does not give ${path}`);
    }
  }

  async #addAttachment(path: string, file: DiskFile, size: number, hash: string): Promise<void> {
    this.count.attachments++;
    if ((await sha256Of(file, size, this.#files.signal)) === hash) return;
    this.#find(path, "damaged_file", "it is not the file that its name says", size);
  }

  async #addDocument(path: string, file: DiskFile, size: number): Promise<void> {
    if (isDocument(path) && path.endsWith(".json")) this.count.documents++;
    if (decodeDocument(await readExactly(file, 0, size)) !== undefined) return;
    this.#find(path, "unreadable_document", `${path} is not a whole document`, size);
  }

  /** Compares what is there with what should be. */
  async finish(): Promise<void> {
    const { index, has } = this.#files;
    for (const [path, { seq }] of index) {
      const reason = `the file is not there, though record ${seq} had been stored`;
      if (!(await has(path))) this.#find(path, "older_copy", reason);
    }
    for (const [path, seq] of this.#named) {
      const reason = `the file of record ${seq} is not there`;
      if (!(await has(path))) this.#find(path, "missing_file", reason, 0, seq);
    }
    const document = "session/session.json";
    // A run that was killed at once leaves none.
    if (this.#runs < 2 || (await has(document)) || (await has(`${document}.bak`))) return;
    const reason = `${document} is not there, though the companion ran ${this.#runs} times`;
    this.#find(document, "missing_document", reason);
  }

  #find(path: string, kind: Finding["kind"], reason: string, bytes = 0, after_seq = 0): void {
    const file = path.replace(/\.bak$/, "");
    const [folder, name = ""] = file.includes("/") ? file.split("/") : ["", file];
    const stem = name.replace(/\.(jsonl?|files)$/, "");
    const key = `${folder}/${this.#keyOf(join(folder ?? "", `${stem}.jsonl`)) ?? stem}`;
    this.found.push({ key, kind, bytes, after_seq, file, reason });
  }

  /** The key of a log by its path; `undefined`: only the log itself says it. */
  #keyOf(path: string): string | undefined {
    return this.#files.index.get(path)?.key ?? keyOfFileName(basename(path, ".jsonl"));
  }

  async #addLog(path: string, file: DiskFile, end: number): Promise<void> {
    this.count.logs++;
    const known = this.#files.index.get(path);
    const damages: Damage[] = [];
    let seq = 0;
    let last = 0;
    let isAsKnown = known === undefined;
    const key = this.#keyOf(path);
    let isOther = false;
    try {
      for await (const item of batchesForward(file, 0, end)) {
        this.#files.signal.throwIfAborted();
        if (item.kind === "damage") damages.push(item);
        else {
          ({ seq } = item.commit);
          if (last === 0) isOther = key !== undefined && headOf(item.line).key !== key;
          last = item.end;
          isAsKnown ||= last === known?.end && item.commit.crc === known.crc;
          this.#addBatch(path, item);
        }
      }
      if (isOther || (last === 0 && end > 0 && !(await mayBeOurs(file, end)))) {
        const whose = isOther ? "it holds another log" : "another program wrote this file";
        const reason = `${whose}; it was left as it is`;
        if (known || ownLogs.test(path)) this.#find(path, "foreign_lines", reason, end);
        return;
      }
    } catch (error) {
      if (!isThroughlineError(error)) throw error;
      this.#find(path, "unreadable_log", error.message);
      return;
    }
    if (known && !isAsKnown) this.#find(path, "older_copy", olderCopy(seq, known.seq), 0, seq);
    for (const damage of damages) {
      // A write that was cut short: the next opening sets it aside.
      if (damage.end === end && damage.start === last && last > 0) continue;
      const { reason, bytes, after_seq } = damageReport("", damage);
      this.#find(path, "damaged_middle", reason, bytes, after_seq);
    }
  }

  #addBatch(path: string, batch: Batch): void {
    this.count.records += batch.commit.count;
    if (path === "runs.jsonl") {
      this.#runs += recordsOf(batch).filter(({ kind }) => kind === "run_start").length;
    }
    // Most batches name none, and need not be parsed.
    if (!path.startsWith("chats/") || !batch.body.includes('"attachments"')) return;
    for (const { seq, attachments } of recordsOf(batch)) {
      for (const each of Array.isArray(attachments) ? attachments : []) {
        const name = `${path.slice(0, -".jsonl".length)}.files/${each?.sha256}`;
        if (hashInName(name) !== undefined) this.#named.set(name, seq);
      }
    }
  }
}

/** Longest time that a deletion takes until the index has it too, in milliseconds. */
const deletionMs = 500;

/**
 * Takes the inventory of a home.
 *
 * @param isLive a process may be changing it: only what is wrong twice is found.
 */
export async function takeInventory(
  disk: Disk,
  home: string,
  isLive: boolean,
  signal: AbortSignal = new AbortController().signal,
): Promise<Pick<Inventory, "found" | "count">> {
  const once = async () => {
    const has = async (path: string) =>
      (await disk.size(join(home, path)).catch(unlessAbsent)) !== undefined;
    const files = { disk, folder: home, has, index: readIndex(home), signal };
    return readInventory((await listHome(disk, home)).paths, files);
  };
  const first = await once();
  if (first.found.length === 0 || !isLive) return first;
  await wait(deletionMs);
  const ids = new Set(first.found.map(findingId));
  const { count, found } = await once();
  return { count, found: found.filter((each) => ids.has(findingId(each))) };
}

/** Reads these files of a home, or of its copy, and compares them with the index. */
export async function readInventory(paths: readonly string[], files: Files): Promise<Inventory> {
  const inventory = new Inventory(files);
  for (const path of paths) await inventory.add(path);
  await inventory.finish();
  return inventory;
}
