import { join } from "node:path";
import type { KeyedMutex } from "../../core/mutex.ts";
import { syncNames } from "../../core/storage/files/file-ports.ts";
import { isPackageName } from "../package/package-format.ts";
import { codeOf } from "./disk-errors.ts";
import { type Ending, endings, placeOf } from "./names.ts";
import type { PackagePorts } from "./ports.ts";
import { quarantined, removeQuarantined } from "./quarantine.ts";
import { removeBeside } from "./recover.ts";
import { entriesOf, isThere, removeTree } from "./remove-tree.ts";
import { readStatus } from "./status.ts";
import { holdsMessage, type Whose, whoseIs } from "./whose.ts";

/**
 * Which packages: one, those of a chat, those of a chat that hold one message, those in whose window a
 * person was seen, or every one.
 */
export type Selection =
  | { readonly name: string }
  | { readonly chatId: string }
  | { readonly message: { readonly chatId: string; readonly id: string } }
  | { readonly person: string }
  | { readonly all: true };

/** What a deletion found, in each place, and what it could not reach. */
export interface DeleteReceipt {
  /** Names of which nothing is left here, oldest first. */
  readonly deleted: readonly string[];
  readonly packages: number;
  readonly unfinished: number;
  readonly spills: number;
  readonly statuses: number;
  readonly quarantined: number;
  /** Of all files that were removed. */
  readonly bytes: number;
  /** Uploads and marks that were still to be sent, and are not any more. */
  readonly owed: number;
  /** Copies in buckets, known from the statuses: they are owed to whoever sends. */
  readonly remote: readonly {
    readonly name: string;
    readonly bucket: string;
    readonly prefix: string;
  }[];
  /** Deletion was not finished, and is at the next start or when it is asked for again. */
  readonly failed: readonly { readonly name: string; readonly error: string }[];
  /** Their record cannot be read, so it is not known whose they are: delete them by name. */
  readonly unreadable: readonly string[];
}

type Counts = { -readonly [name in keyof DeleteReceipt]: DeleteReceipt[name] } & {
  deleted: string[];
  remote: DeleteReceipt["remote"][number][];
  failed: DeleteReceipt["failed"][number][];
  unreadable: string[];
};

/**
 * Deletes packages and all that lies beside them, each for good before the next. A half of which the
 * record was never written goes with every deletion: it may be anybody's, and nobody was told that it
 * is kept. `waiting`: names that are being saved at this moment and that the selection meets.
 */
export async function deletePackages(
  ports: PackagePorts,
  selection: Selection,
  waiting: readonly string[],
  alone: KeyedMutex["run"],
): Promise<DeleteReceipt> {
  const counts: Counts = {
    ...{ deleted: [], packages: 0, unfinished: 0, spills: 0, statuses: 0, quarantined: 0 },
    ...{ bytes: 0, owed: 0, remote: [], failed: [], unreadable: [] },
  };
  // They end first: under which name is not certain before.
  for (const name of waiting) await alone(name, async () => undefined);
  const aside = await quarantined(ports);
  for (const name of await candidates(ports, selection, aside)) {
    await alone(name, async () => {
      try {
        const places = placesOf(ports, name, aside);
        const whose = await whoseIs(ports, places);
        const isHalf = whose.length === 0 && !(await isThere(ports.disk, join(ports.path, name)));
        const isMeantToo = isHalf || isMeant(selection, name, whose);
        const isHeld =
          isMeantToo && !isHalf && "message" in selection
            ? await holdsMessage(ports, places, selection.message.id)
            : isMeantToo;
        if (isHeld !== true) {
          if (isHeld === "unreadable" || whose.length === 0) counts.unreadable.push(name);
          return;
        }
        if (await deleteOne(ports, name, whose[0], aside, counts)) counts.deleted.push(name);
      } catch (error) {
        counts.failed.push({ name, error: codeOf(error) });
        ports.logger.error(
          { package: name, error: codeOf(error) },
          "deleted in part: to be finished",
        );
      }
    });
  }
  return counts;
}

type Aside = Awaited<ReturnType<typeof quarantined>>;

async function candidates(
  { disk, path }: PackagePorts,
  selection: Selection,
  aside: Aside,
): Promise<readonly string[]> {
  if ("name" in selection) return [selection.name];
  const names = new Set<string>();
  for (const { name } of (await entriesOf(disk, path)) ?? []) {
    const place = placeOf(name);
    // Where there is a status alone, whose package it is is known to the bucket that has it.
    const isTold = place?.as !== "status" || "all" in selection;
    if (place !== undefined && isTold) names.add(place.name);
  }
  for (const { name } of aside) if (isPackageName(name)) names.add(name);
  return [...names].sort();
}

/**
 * Whether a selection takes in a package whose records say this. Records do not list every message: of a
 * selection by message, whether it can be meant.
 */
export function isMeant(
  selection: Selection,
  name: string,
  whose: readonly Pick<Whose, "chat_id" | "people">[],
): boolean {
  if ("all" in selection) return true;
  if ("name" in selection) return selection.name === name;
  if ("chatId" in selection || "message" in selection) {
    const { chatId } = "chatId" in selection ? selection : selection.message;
    return whose.some(({ chat_id }) => chat_id === chatId);
  }
  const person = foldedName(selection.person);
  return whose.some(({ people }) => people.some((one) => foldedName(one) === person));
}

/** Names of people are compared without case, as they are spoken. */
export function foldedName(name: string): string {
  return name.normalize("NFC").trim().toLowerCase();
}

/**
 * Deletes all of one name. The rename is the decision: from there on a start finishes it, and what
 * lies beside goes before the package does, so that nothing of it comes back.
 */
async function deleteOne(
  ports: PackagePorts,
  name: string,
  whose: Whose | undefined,
  aside: Aside,
  counts: Counts,
): Promise<boolean> {
  const { disk, path } = ports;
  const folder = join(path, name);
  ports.guard();
  const remote = ((await readStatus(ports, name))?.uploaded ?? []).map(({ bucket, prefix }) => ({
    ...{ name, bucket, prefix },
  }));
  const { session_id = "", consent = { upload: remote.length > 0 } } = whose ?? {};
  counts.owed += (await ports.owed?.forgotten({ name, session_id, consent }, remote)) ?? 0;
  counts.remote.push(...remote);

  const deleting = folder + endings.deleting;
  const begun = await removeTree(disk, deleting);
  const as = await firstThere(ports, name);
  if (as !== undefined) {
    await disk.rename(as === "package" ? folder : folder + endings[as], deleting);
    await syncNames(ports, path);
  }
  const beside = await removeBeside(ports, name);
  count(counts, as, beside);
  const ours = aside.filter((one) => one.name === name);
  for (const { entry } of ours) {
    await removeQuarantined(ports, entry);
    if (!entry.endsWith(".json")) counts.quarantined++;
  }
  counts.bytes += (begun ?? 0) + ((await removeTree(disk, deleting)) ?? 0);
  await syncNames(ports, path);
  return begun !== undefined || as !== undefined || beside.found.size > 0 || ours.length > 0;
}

/** The folder that is renamed: any one that could become a package again. */
async function firstThere(
  { disk, path }: PackagePorts,
  name: string,
): Promise<"package" | "partial" | "salvaging" | undefined> {
  for (const as of ["package", "partial", "salvaging"] as const) {
    const ending = as === "package" ? "" : endings[as];
    if (await isThere(disk, join(path, name + ending))) return as;
  }
  return undefined;
}

function count(
  counts: Counts,
  renamed: "package" | "partial" | "salvaging" | undefined,
  { found, bytes }: { readonly found: ReadonlySet<Ending | "package">; readonly bytes: number },
): void {
  counts.bytes += bytes;
  if (renamed === "package") counts.packages++;
  const isUnfinished = found.has("partial") || found.has("salvaging");
  if (isUnfinished || (renamed !== undefined && renamed !== "package")) counts.unfinished++;
  if (found.has("spill")) counts.spills++;
  if (found.has("status")) counts.statuses++;
}

/** Where something of one name is. */
function placesOf(ports: PackagePorts, name: string, aside: Aside): readonly string[] {
  const { path, quarantinePath } = ports;
  const folder = join(path, name);
  const entries = aside.filter((one) => one.name === name && !one.entry.endsWith(".json"));
  return [
    ...["", endings.partial, endings.salvaging].map((ending) => folder + ending),
    ...entries.map(({ entry }) => join(quarantinePath, entry)),
  ];
}
