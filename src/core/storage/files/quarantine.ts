import { basename, dirname, join } from "node:path";
import { isJsonObject } from "../../json.ts";
import { sha256 } from "../../sha256.ts";
import type { Disk, DiskFile } from "../disk/disk.ts";
import type { RepairReport } from "../storage.ts";
import { hexCrc } from "./commit.ts";
import {
  copyBytes,
  type FilePorts,
  type HomePorts,
  makeDirectory,
  readBytes,
  replaceFile,
  syncNames,
  unlessAbsent,
  writeAll,
} from "./file-ports.ts";

/** Its name in the home. */
export const quarantineFolder = "quarantine";

/** Something that a home was found to lack, or to have other than it was stored. */
export interface Finding extends Omit<RepairReport, "at" | "kind"> {
  readonly kind: RepairReport["kind"] | "damaged_file" | "missing_document" | "missing_file";
  /** Relative to the home. */
  readonly file?: string;
}

/** A report in quarantine. */
export interface KeptReport extends Finding {
  readonly at: string;
  /** What `doctor --confirm` takes. */
  readonly id: string;
  /** A person knows of it. */
  readonly confirmed: boolean;
}

/** Nothing that was acknowledged is lost. */
const harmless: readonly Finding["kind"][] = ["torn_tail", "unfinished_package"];

/** Whether something that was stored may be lost, so that a person has to confirm it. */
export function isLoss({ kind }: Pick<Finding, "kind">): boolean {
  return !harmless.includes(kind);
}

/** The same for the same finding, whenever and by whom it is found. */
export function findingId({ key, kind, bytes, after_seq, file }: Finding): string {
  return hexCrc(JSON.stringify([key, kind, bytes, after_seq, file]));
}

/** Every report in the quarantine of a home that can be read, by the name of its file. */
export async function readReports(
  disk: Disk,
  home: string,
): Promise<ReadonlyMap<string, KeptReport>> {
  const folder = join(home, quarantineFolder);
  const reports = new Map<string, KeptReport>();
  const listing = await disk.list(folder).catch(() => []);
  for (const name of listing.map((entry) => entry.name).sort()) {
    if (!name.endsWith(".json")) continue;
    try {
      const value: unknown = JSON.parse(String(await readBytes(disk, join(folder, name))));
      if (!isJsonObject(value)) continue;
      const report = value as unknown as KeptReport;
      const confirmed = name.endsWith(".confirmed.json");
      reports.set(name, { ...report, id: findingId(report), confirmed });
    } catch {
      // The bytes that it was about are there all the same.
    }
  }
  return reports;
}

/**
 * Bytes that could not be read, kept verbatim in `<home>/quarantine/`, each with the report of why.
 * Names are derived from the file and the place, so that a recovery that is cut short and run again
 * keeps one copy, not two.
 */
export class Quarantine {
  readonly #ports: FilePorts;
  readonly #home: string;
  readonly #directory: string;

  constructor(ports: FilePorts, home: string) {
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

  /**
   * Keeps the report of bytes that were set aside, and of what may be lost; it stays as it was first kept, until
   * its file or its chat is forgotten. Best effort: the report was made already.
   */
  async keepReport(report: Finding & { readonly at: string }): Promise<void> {
    const { quarantined, file = "" } = report;
    if (quarantined === undefined && !isLoss(report)) return;
    const id = findingId(report);
    const owner = join(this.#home, file.replace(/\.files\/.*$/, ".jsonl"));
    const name = quarantined === undefined ? `${this.#prefix(owner)}${id}` : basename(quarantined);
    const text = Buffer.from(`${JSON.stringify(report)}\n`);
    try {
      if (await this.#isMarked(report)) return;
      const known = await readReports(this.#ports.disk, this.#home);
      if ([...known.values()].some((each) => each.id === id)) return;
      await makeDirectory(this.#ports.disk, this.#directory);
      await this.#write(`${name}.json`, (file) => writeAll(file, text, 0));
    } catch {
      // The disk is full, or fails.
    }
  }

  /** Whether the log may be missing because it was deleted. Its id is not kept then. */
  async #isMarked({ key, kind }: Finding): Promise<boolean> {
    if (kind !== "missing_log") return false;
    const [collection, ...id] = key.split("/");
    if (collection !== "chats") return true;
    const marks = readBytes(this.#ports.disk, join(this.#home, "forgotten", "chats.jsonl"));
    const hash = sha256(id.join("/")).toString("hex");
    return marks.then(
      (bytes) => bytes?.includes(hash) ?? false,
      () => true,
    );
  }

  /** Removes everything that was kept of one file. @returns how many files, and how many bytes they kept. */
  async forget(path: string): ReturnType<HomePorts["forgetQuarantine"]> {
    const { disk } = this.#ports;
    const prefix = this.#prefix(path);
    const kept = ((await disk.list(this.#directory).catch(unlessAbsent)) ?? [])
      .filter(({ name }) => name.startsWith(prefix))
      .map(({ name }) => join(this.#directory, name));
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
    return `${collection}-${basename(place)}.${hexCrc(place)}.`;
  }

  #write(name: string, fill: (file: DiskFile) => Promise<void>): Promise<void> {
    return replaceFile(this.#ports, join(this.#directory, name), fill);
  }
}
