// What version 0.1 kept in `<home>/outbox/`, one file for each thing that was still to be done in a
// bucket, becomes what this version keeps beside the packages: an upload and a retraction a note in the
// package's status, a deletion and a search a tombstone. Each file goes once what it said is durable, so
// that an interrupted conversion is simply done again.
import { basename, join } from "node:path";
import { isJsonObject } from "../../core/json.ts";
import { syncNames, unlinkIfThere } from "../../core/storage/files/file-ports.ts";
import {
  isPackageName,
  type PackageStatus,
  type UploadError,
  type UploadTarget,
} from "../package/package-format.ts";
import { keyPrefix } from "../s3/object-key.ts";
import { endings, isSearchName } from "./names.ts";
import type { PackagePorts } from "./ports.ts";
import { quarantine } from "./quarantine.ts";
import { readFolder, readWhole } from "./read-package.ts";
import { entriesOf, isThere } from "./remove-tree.ts";
import { isTarget, readStatus, writeStatus } from "./status.ts";
import { readTombstone, writeTombstone } from "./tombstones.ts";

/** An entry of version 0.1, as far as it is still used. */
interface Entry {
  readonly kind: "package" | "sending" | "retraction" | "delete" | "search";
  readonly name: string;
  readonly target: UploadTarget;
  readonly prefix: string;
  readonly isFailed: boolean;
  readonly since: number;
  readonly keepLocal: boolean;
  readonly bytes: number;
  readonly error: UploadError | null;
  readonly retraction: Omit<NonNullable<PackageStatus["retracted"]>, "timestamp"> | undefined;
  readonly retractedAt: number;
  readonly paths: readonly string[];
}

const unknownTarget: UploadTarget = { bucket: "", region: null, endpoint: null };

export async function convertOutbox(ports: PackagePorts, outbox: string): Promise<void> {
  const { disk } = ports;
  const entries = await entriesOf(disk, outbox);
  if (entries === undefined) return;
  const files = entries.flatMap(({ name, kind }) => (kind === "file" ? [name] : []));
  // Deletions first: they win over what was still to be sent of the same package.
  const isDeletion = (file: string) => /\.delete(-\d+)?\.json$/.test(file);
  for (const file of files.sort((one, other) => {
    return Number(isDeletion(other)) - Number(isDeletion(one)) || (one < other ? -1 : 1);
  })) {
    ports.guard();
    if (file.endsWith(".json")) await convertFile(ports, outbox, file);
    else if (/\.tmp-[0-9a-z]+$/.test(file)) await unlinkIfThere(disk, join(outbox, file));
  }
  await syncNames(ports, outbox);
  if ((await entriesOf(disk, outbox))?.length !== 0) return;
  await disk.rmdir(outbox);
}

async function convertFile(ports: PackagePorts, outbox: string, file: string): Promise<void> {
  const id = file.slice(0, -".json".length);
  const value = jsonOf(await readWhole(ports.disk, join(outbox, file)));
  if (isJsonObject(value) && typeof value["v"] === "number" && value["v"] > 1) return;
  const read = isJsonObject(value) ? entryOf(id, value) : undefined;
  // Of one that cannot be read the name tells what it is about.
  const entry = read ?? entryOf(id, {});
  const isKept = entry !== undefined && !(await convert(ports, entry));
  if (isKept) return;
  if (read !== undefined) return void (await unlinkIfThere(ports.disk, join(outbox, file)));
  await quarantine(ports, outbox, file, {
    key: `${basename(outbox)}/${id}`,
    kind: "unreadable_document",
    bytes: 0,
    after_seq: 0,
    reason: "an entry of the outbox is not readable: what is to be done is told by its name",
  });
}

/** @returns false: it has to wait, because the status of the package cannot be read. */
async function convert(ports: PackagePorts, entry: Entry): Promise<boolean> {
  const { kind, name } = entry;
  if (kind === "delete" || kind === "search") return await bury(ports, entry, false);
  const isHere = await isAnyThere(ports, name, ["", endings.partial, endings.salvaging]);
  if (kind === "sending") return isHere || (await bury(ports, entry, true));
  const isDeleted = await isThere(ports.disk, join(ports.path, name + endings.tombstone));
  if (isDeleted || (kind === "package" && !isHere)) return true;
  return await note(ports, entry);
}

async function bury(ports: PackagePorts, entry: Entry, unlessWhole: boolean): Promise<boolean> {
  const { name, target, prefix, paths, isFailed, since, error } = entry;
  const before = await readTombstone(ports, name);
  // What an interrupted conversion did before is done once.
  const others = (before?.places ?? []).filter((place) => {
    return place.target.bucket !== target.bucket || place.prefix !== prefix;
  });
  await writeTombstone(ports, name, {
    state: isFailed ? "failed" : "pending",
    places: [...others, { target, prefix }],
    paths,
    unless_whole: unlessWhole || undefined,
    since,
    error,
  });
  return true;
}

async function note(ports: PackagePorts, entry: Entry): Promise<boolean> {
  const { kind, name, target, keepLocal, isFailed, since, error, bytes } = entry;
  const status = await readStatus(ports, name);
  if (status === undefined) {
    ports.logger.warn({ package: name }, "its status cannot be read: its upload waits for that");
    return false;
  }
  const { manifest } = await readFolder(ports.disk, join(ports.path, name), name);
  if (kind === "package" && manifest?.consent.upload === false) return true;
  const known = manifest === undefined ? "" : keyPrefix(manifest.session_id, name);
  const upload = {
    state: isFailed ? "failed" : "pending",
    target,
    prefix: entry.prefix || known,
    keep_local: keepLocal,
    since,
    bytes,
    error,
  } as const;
  if (kind === "package") {
    // One that a bucket has already is only there to be marked as retracted.
    const isSent = status.uploaded.length > 0 && status.retracted === null;
    const state = isSent ? "done" : upload.state;
    await writeStatus(ports, name, { ...status, upload: { ...upload, state } });
    return true;
  }
  const words = entry.retraction ?? { by: null, reason: null, superseded_by: null };
  const retracted = status.retracted ?? { timestamp: entry.retractedAt, ...words };
  const isNoted = status.uploaded.length > 0 || status.upload !== undefined;
  const copy = { bucket: target.bucket, prefix: entry.prefix, timestamp: since };
  const uploaded = isNoted || entry.prefix === "" ? status.uploaded : [copy];
  const state = status.upload?.state === "pending" ? "pending" : upload.state;
  await writeStatus(ports, name, {
    ...status,
    uploaded,
    retracted,
    upload: { ...(status.upload ?? upload), state },
  });
  return true;
}

async function isAnyThere(
  { disk, path }: PackagePorts,
  name: string,
  of: readonly string[],
): Promise<boolean> {
  const found = await Promise.all(of.map((ending) => isThere(disk, join(path, name + ending))));
  return found.includes(true);
}

/** `<name>`, `<name>.sending`, `<name>.retraction`, `<name>.delete`, `….delete-2`; a search as it is. */
const ofId = /^([^.]+)(?:\.(sending|retraction|delete)(?:-\d+)?)?$/;

/** What the file of an entry says; what it does not say is as if nothing was known. */
function entryOf(id: string, value: Readonly<Record<string, unknown>>): Entry | undefined {
  const [, name = "", kind = isSearchName(name) ? "search" : "package"] = ofId.exec(id) ?? [];
  if (kind !== "search" && !isPackageName(name)) return undefined;
  const { target, prefix, state, first_at: since, keep_local: keepLocal, bytes } = value;
  const { last_error: error, retraction, paths } = value;
  const isPrefix = typeof prefix === "string" && prefix.endsWith(`/${name}/`);
  const words = isJsonObject(retraction) ? retraction : undefined;
  const at = words?.["at"];
  return {
    kind: kind as Entry["kind"],
    name,
    target: isTarget(target) ? target : unknownTarget,
    prefix: isPrefix && prefix.startsWith("feedback/") && !prefix.includes("..") ? prefix : "",
    isFailed: state === "parked",
    since: typeof since === "number" ? since : 0,
    keepLocal: keepLocal !== false,
    bytes: typeof bytes === "number" ? bytes : 0,
    error: errorOf(error),
    retraction: words && {
      by: textOf(words["by"]),
      reason: textOf(words["reason"]),
      superseded_by: textOf(words["superseded_by"]),
    },
    retractedAt: typeof at === "number" ? at : 0,
    paths: Array.isArray(paths) ? paths.filter((path) => typeof path === "string") : [],
  };
}

function errorOf(error: unknown): UploadError | null {
  if (!isJsonObject(error) || typeof error["class"] !== "string") return null;
  const { class: kind, code, status } = error;
  return { class: kind, code: textOf(code), status: typeof status === "number" ? status : null };
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function jsonOf(bytes: Buffer | undefined): unknown {
  try {
    return bytes === undefined ? undefined : JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
}
