import { basename, dirname, join } from "node:path";
import { crc32 } from "node:zlib";
import type { DiskFile } from "../disk/disk.ts";
import type { RepairReport } from "../storage.ts";
import {
  copyBytes,
  type FilePorts,
  isCode,
  makeDirectory,
  syncNames,
  writeAll,
} from "./file-ports.ts";

/** Its name in the home. */
export const quarantineFolder = "quarantine";

export interface Forgotten {
  readonly files: number;
  readonly bytes: number;
}

type QuarantinePorts = Pick<FilePorts, "disk" | "newId" | "unsyncedNames">;

/**
 * Bytes that could not be read, kept verbatim in `<home>/quarantine/`, each with the report of why.
 * Names are derived from the file and the place, so that a recovery that is cut short and run again
 * keeps one copy, not two.
 */
export class Quarantine {
  readonly #ports: QuarantinePorts;
  readonly #home: string;
  readonly #directory: string;

  constructor(ports: QuarantinePorts, home: string) {
    this.#ports = ports;
    this.#home = home;
    this.#directory = join(home, quarantineFolder);
  }

  /** Copies bytes of `file`, which is open at `path`. Durable when it resolves. */
  async keep(path: string, file: DiskFile, start: number, end: number): Promise<string> {
    await makeDirectory(this.#ports.disk, this.#directory);
    const name = `${this.#prefix(path)}${start}-${end}.bytes`;
    await this.#write(name, (copy) => copyBytes(file, start, end, copy));
    return `${quarantineFolder}/${name}`;
  }

  /** Keeps the report beside the bytes it speaks of. Best effort: the report was made already. */
  async keepReport(report: RepairReport): Promise<void> {
    if (report.quarantined === undefined) return;
    const text = Buffer.from(`${JSON.stringify(report)}\n`);
    const name = `${basename(report.quarantined)}.json`;
    await this.#write(name, (file) => writeAll(file, text, 0)).catch(() => undefined);
  }

  /** Removes everything that was kept of one file. @returns how many files, and how many bytes they kept. */
  async forget(path: string): Promise<Forgotten> {
    const { disk } = this.#ports;
    const prefix = this.#prefix(path);
    let names: readonly string[];
    try {
      names = (await disk.list(this.#directory)).map((entry) => entry.name);
    } catch (error) {
      if (isCode(error, "ENOENT")) return { files: 0, bytes: 0 };
      throw error;
    }
    const kept = names
      .filter((name) => name.startsWith(prefix))
      .map((name) => join(this.#directory, name));
    let bytes = 0;
    for (const each of kept) {
      if (each.endsWith(".bytes")) bytes += await disk.size(each);
      await disk.unlink(each);
    }
    if (kept.length > 0) await syncNames(this.#ports, this.#directory);
    return { files: kept.length, bytes };
  }

  /** `chats/a.jsonl` gives `chats-a.jsonl.3f2a91c0.`: the CRC keeps prefixes of names apart. */
  #prefix(path: string): string {
    const place = path.slice(this.#home.length + 1);
    const collection = dirname(place) === "." ? "home" : dirname(place);
    const crc = crc32(place).toString(16).padStart(8, "0");
    return `${collection}-${basename(place)}.${crc}.`;
  }

  async #write(name: string, fill: (file: DiskFile) => Promise<void>): Promise<void> {
    const path = join(this.#directory, name);
    const { disk } = this.#ports;
    let file: DiskFile;
    try {
      file = await disk.open(path, "create");
    } catch (error) {
      if (!isCode(error, "EEXIST")) throw error;
      // An earlier recovery was cut short here, perhaps in the middle of this very copy.
      file = await disk.open(path, "write");
      await file.truncate(0);
    }
    try {
      await fill(file);
      await file.sync();
    } finally {
      await file.close();
    }
    await syncNames(this.#ports, this.#directory);
  }
}
