// Commands for packages: preserve, retract, verify, purge, delete, import.
import { readdirSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { type Context, withMemories } from "../../cli/command.ts";
import { describeFailure, Exit, exitCodes, wrongUsage } from "../../cli/failure.ts";
import { bytes, counted, json } from "../../cli/format.ts";
import { tell, write } from "../../cli/io.ts";
import { confirm } from "../../cli/line-reader.ts";
import type { ImportedSeed } from "../directory/import-seed.ts";
import { isSeedName } from "../directory/names.ts";
import type { PackageReader } from "../directory/read-package.ts";
import type { Selection } from "../directory/whose.ts";
import type { Moments } from "../moments.ts";
import {
  type JsonFlag,
  nothingYet,
  packagesOf,
  show,
  startConfiguredMoments,
  withMoments,
} from "./feedback.ts";

interface MarkFlags extends JsonFlag {
  readonly reason?: string;
  readonly release?: boolean;
}

/** `feedback preserve`, and `--release`. */
export function preserve(name: string, flags: MarkFlags, context: Context): Promise<void> {
  return withMoments(flags, context, async ({ packages }) => {
    const mark = flags.release ? null : { by: null, reason: flags.reason ?? null };
    const status = await packages.preserve(name, mark);
    if (flags.json) await write(context.io.output, json(status));
  });
}

/** `feedback retract`. */
export function retract(name: string, flags: MarkFlags, context: Context): Promise<void> {
  const { io } = context;
  return withMoments(flags, context, async (moments) => {
    const where = await moments.retract(name, { by: null, reason: flags.reason ?? null });
    if (flags.json) await write(io.output, json(await moments.packages.status(name)));
    else if (where === "bucket") {
      await tell(io, "The package is only in the bucket. The mark will be uploaded there.");
    }
  });
}

/** `feedback verify`: the named packages, or all. @throws Exit with 1: one is damaged. */
export async function verify(
  names: readonly string[],
  flags: JsonFlag,
  context: Context,
): Promise<void> {
  const { io } = context;
  const packages = packagesOf(flags, context);
  const all = names.length > 0 ? names : await allNames(packages);
  const found = [];
  for (const name of all) found.push(await packages.verify(name));
  const lines = found.flatMap(({ name, state, differences }) => [
    `${name}: ${state}`,
    ...differences.map(({ path, detail }) => `  ${path}: ${detail}`),
  ]);
  if (found.length === 0 && !flags.json) await tell(io, nothingYet);
  else await show(io, flags, found, lines.join("\n"));
  if (found.some(({ state }) => state === "damaged")) throw new Exit(exitCodes.failed);
}

interface PurgeFlags extends JsonFlag {
  readonly maxAgeDays?: number;
  readonly maxMegabytes?: number;
  readonly cutOff?: boolean;
}

/**
 * `feedback purge`: the oldest that are past a limit; none that is preserved or still to be uploaded. And what
 * uploads left in the bucket that ended before their manifest.
 *
 * @throws Exit with 1: not all of the bucket could be looked at.
 */
export function purge(flags: PurgeFlags, context: Context): Promise<void> {
  const { maxAgeDays, maxMegabytes, cutOff = false } = flags;
  const hasLimit = maxAgeDays !== undefined || maxMegabytes !== undefined;
  if (hasLimit === cutOff) {
    const limits = "--max-age-days, --max-megabytes, or both";
    throw wrongUsage(`pass a limit: ${limits}; or pass only --cut-off`);
  }
  const work = cutOff ? purgeBucket : purgeHere;
  return withMoments(flags, context, (moments) => work(moments, flags, context));
}

async function purgeBucket(moments: Moments, flags: JsonFlag, { io }: Context): Promise<void> {
  const removed = await moments.removeCutOff();
  const found = counted(removed.remote.length, "upload");
  await show(io, flags, removed, `${found} cut off, removed from the bucket`);
  if (removed.isBucketSearched) return;
  await tell(io, "The bucket is unavailable or cannot be listed: not all of it was searched.");
  throw new Exit(exitCodes.failed);
}

async function purgeHere(
  { packages }: Moments,
  { maxAgeDays, maxMegabytes, ...flags }: PurgeFlags,
  { io }: Context,
): Promise<void> {
  const report = await packages.purge({
    maxAgeMs: maxAgeDays === undefined ? undefined : maxAgeDays * 86_400_000,
    maxBytes: maxMegabytes === undefined ? undefined : maxMegabytes * 1_000_000,
  });
  const { clockIsBehind, clockIsAhead, kept, purged } = report;
  if (!flags.json) {
    if (clockIsBehind) return tell(io, farBehind);
    if (clockIsAhead) await tell(io, farAhead);
    for (const { name, because } of kept) await tell(io, `${name} was kept: ${because}`);
  }
  const removed = counted(purged.length, "package");
  await show(io, flags, report, `${removed} removed, ${bytes(report.bytes)} left`);
}

const farBehind =
  "The clock is behind the newest package, so no package is certain to be old. Nothing was removed.";
const farAhead =
  "The clock is more than a year past the newest package and may be wrong, so no package was removed for " +
  "its age. If the clock is right, record another package and purge again, or use " +
  "`throughline feedback delete PACKAGE`.";

interface DeleteFlags extends JsonFlag {
  readonly chat?: string;
  readonly person?: string;
  readonly all?: boolean;
  readonly inBucket?: boolean;
  readonly yes?: boolean;
}

/**
 * `feedback delete`: what this home has, and the copies in buckets; with `--in-bucket` also what the bucket
 * has and this home does not know of. Asks first; without a terminal it needs `--yes`.
 *
 * @throws Exit with 1: the person said no, or something could not be removed.
 */
export async function remove(
  name: string | undefined,
  flags: DeleteFlags,
  context: Context,
): Promise<void> {
  const { io } = context;
  const selection = selectionOf(name, flags);
  if (!flags.yes) {
    if (!io.isInteractive) {
      throw wrongUsage("deleting cannot be undone. Pass --yes to confirm");
    }
    if (!(await confirm(io, "Delete these packages? This cannot be undone."))) {
      await tell(io, "Nothing was deleted.");
      throw new Exit(exitCodes.failed);
    }
  }
  await withMoments(flags, context, async (moments) => {
    const { inBucket } = flags;
    if (inBucket && moments.statistics().outbox === null) {
      throw wrongUsage("--in-bucket needs a bucket: set FEEDBACK_S3_BUCKET");
    }
    const receipt = await moments.forget(selection, { inBucket });
    const { packages, unfinished, pending, remote, failed, unreadable } = receipt;
    const counts = {
      packages,
      unfinished,
      "pending uploads": pending,
      "copies in buckets, to be deleted": remote.length,
      "NOT DELETED": failed.length,
      "UNREADABLE (delete by name)": unreadable.length,
    };
    const told = Object.entries(counts).filter(([place, n]) => n > 0 || place === "packages");
    await show(io, flags, receipt, told.map(([place, n]) => `${place}: ${n}`).join("\n"));
    const isLeft = receipt.isBucketSearched === false;
    if (isLeft) await tell(io, bucketAway);
    if (failed.length > 0 || isLeft) throw new Exit(exitCodes.failed);
  });
}

const bucketAway = "The bucket is unavailable: not all of it was searched. Run this again later.";

function selectionOf(name: string | undefined, { chat, person, all }: DeleteFlags): Selection {
  const said: readonly Selection[] = [
    ...(name === undefined ? [] : [{ name }]),
    ...(chat === undefined ? [] : [{ chatId: chat }]),
    ...(person === undefined ? [] : [{ person }]),
    ...(all ? [{ all }] : []),
  ];
  const [selection] = said;
  if (selection !== undefined && said.length === 1) return selection;
  throw wrongUsage("name one package, or pass --chat, --person or --all");
}

interface ImportFlags extends JsonFlag {
  readonly allowExport?: boolean;
  readonly allowUpload?: boolean;
  readonly by?: string;
}

/**
 * `feedback import`: a package of the original, or a folder of them. One that cannot be imported is
 * reported, and the others are imported.
 *
 * @throws Exit with 1: not all were imported.
 */
export async function importSeeds(
  path: string,
  flags: ImportFlags,
  context: Context,
): Promise<void> {
  const { io } = context;
  const { allowUpload = false, allowExport = false, by = null } = flags;
  const consent = { upload: allowUpload, export: allowExport, by };
  const folders = seedFolders(resolve(path));
  if (folders.length === 0) {
    throw wrongUsage(`${path} is not a package of a reachy companion, and contains none`);
  }
  // As `throughline import` does, it makes the home.
  const work: Parameters<typeof withMemories<void>>[2] = async (throughline, settings) => {
    const { packages } = await startConfiguredMoments(throughline, settings);
    const done: ImportedSeed[] = [];
    for (const folder of folders) {
      try {
        done.push(await packages.importSeedPackage(folder, { consent }));
      } catch (error) {
        const [what] = describeFailure(error, "", { stack: false }).text.split("\n");
        await tell(io, `${basename(folder)}: ${what}`);
      }
    }
    const failed = folders.length - done.length;
    const leftOut = done.flatMap(({ name, leftOut }) =>
      leftOut.map(({ path: part, reason }) => `${name}: ${part}: ${reason}`),
    );
    if (!flags.json) for (const line of leftOut) await tell(io, line);
    const fresh = done.filter(({ isNew }) => isNew).length;
    const rest = failed === 0 ? "" : `, ${failed} NOT IMPORTED`;
    const known = `${done.length - fresh} already here${rest}`;
    await show(io, flags, done, `${counted(fresh, "package")} imported, ${known}`);
    if (failed > 0) throw new Exit(exitCodes.failed);
  };
  return withMemories(flags, context, work, true);
}

/** The folder itself, or the packages in it, by name. */
function seedFolders(path: string): readonly string[] {
  if (isSeedName(basename(path))) return [path];
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  const inside = readdirSync(path, { withFileTypes: true });
  const found = inside.filter((entry) => entry.isDirectory() && isSeedName(entry.name));
  return found.map(({ name }) => join(path, name)).sort();
}

async function allNames(packages: PackageReader): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { name, state } of packages.entries()) {
    if (state !== "seed" && state !== "bucket") names.push(name);
  }
  return names.reverse();
}
