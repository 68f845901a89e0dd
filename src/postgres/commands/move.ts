import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Context } from "../../cli/command.ts";
import { Failed, wrongUsage } from "../../cli/failure.ts";
import { counted, json } from "../../cli/format.ts";
import { assertHomeExists } from "../../cli/home.ts";
import { type Io, tell, untilStopped, write } from "../../cli/io.ts";
import { openLog } from "../../cli/log.ts";
import { placeToHome } from "../../cli/out-path.ts";
import { type Flags, resolveSettings, type Settings } from "../../cli/settings.ts";
import { filesIn, parseLocation, type StoreLocation } from "../../cli/store-location.ts";
import { type ErrorCode, isThroughlineError } from "../../core/errors.ts";
import type { Logger } from "../../core/logger.ts";
import type { Storage } from "../../core/storage/storage.ts";
import { openThroughline } from "../../core/throughline.ts";
import { type CopyProgress, type CopyReport, copyCompanion } from "../move/copy-companion.ts";
import { staysInHome } from "../move/places.ts";
import { openStore, openWholeStore } from "./open-store.ts";

interface MoveFlags extends Flags {
  /** Copy damaged logs too, with a mark for each record that cannot be read. */
  readonly withDamage?: boolean;
  readonly json?: boolean;
}

/** `export --to`: copies this companion into another store. @throws Exit with 130: interrupted. */
export function exportToStore(to: string, flags: MoveFlags, context: Context): Promise<void> {
  const settings = resolveSettings(flags, context.env);
  const target = parseLocation(to, "--to");
  return move(own(settings), target, settings, flags, context.io);
}

/** `import --from store`: copies a companion from another store into this one. */
export function importFromStore(from: string, flags: MoveFlags, context: Context): Promise<void> {
  const settings = resolveSettings(flags, context.env);
  const source = parseLocation(from, "the store to import from");
  if (source.kind === "files" && !existsSync(source.home)) {
    return Promise.reject(wrongUsage(`there is no store at ${from}`));
  }
  return move(source, own(settings), settings, flags, context.io);
}

const own = ({ store, home }: Settings): StoreLocation => store ?? filesIn(home);

async function move(
  from: StoreLocation,
  to: StoreLocation,
  settings: Settings,
  flags: MoveFlags,
  io: Io,
): Promise<void> {
  if (from.says === to.says) throw sameStore();
  if (from.kind === "files") assertHomeExists(from.home);
  if (to.kind === "files") await assertOwnPlace(to.home, from, settings);
  const logger = openLog(settings.logLevel, "warn");
  const source = await openSource(from, logger);
  let report: CopyReport;
  try {
    const target = await openStore(to, { logger });
    try {
      report = await copyUntilStopped(source, target, flags, io);
    } catch (error) {
      throw withWayOut(error);
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
  const home = from.kind === "files" ? from.home : settings.home;
  const stays = staysInHome.filter((name) => existsSync(join(home, name)));
  const about = { from: from.says, to: to.says, home, stays };
  await write(io.output, flags.json ? json({ ...report, ...about }) : text(report, about));
}

const sameStore = () => wrongUsage("the source and the target are the same store");

/** A home inside another would be taken for part of it. */
async function assertOwnPlace(to: string, from: StoreLocation, { home }: Settings): Promise<void> {
  const source = from.kind === "files" ? from.home : home;
  const place = await placeToHome(to, source);
  if (place === "same" && from.kind === "files") throw sameStore();
  if (place === "inside")
    throw wrongUsage(`${to} is inside the home ${source}. Choose another place`);
}

/** First finishes what a dead process left half done, such as a forgetting. */
async function openSource(from: StoreLocation, logger: Logger): Promise<Storage> {
  const storage = await openWholeStore(from, { logger });
  await openThroughline({ storage, logger });
  return storage;
}

function copyUntilStopped(
  source: Storage,
  target: Storage,
  flags: MoveFlags,
  io: Io,
): Promise<CopyReport> {
  return untilStopped(io, async (signal) => {
    try {
      return await copyCompanion(source, target, {
        signal,
        onProgress: progressOn(io),
        damaged: flags.withDamage ? "mark" : "refuse",
      });
    } catch (error) {
      if (signal.aborted) await tell(io, "Stopped. Run the same command again: it starts over.");
      throw error;
    }
  });
}

/** Logs for each line of progress. */
const tellEvery = 500;

function progressOn(io: Io): (progress: CopyProgress) => void {
  let told = "";
  return ({ logs, of, records }) => {
    const step = `${Math.floor(logs / tellEvery)} ${Math.floor(records / 20_000)}`;
    if (step === told && logs < of) return;
    told = step;
    const line = `copied ${logs}/${of} logs, ${counted(records, "record")} stored`;
    io.errors.write(`${line}\n`);
  };
}

const waysOut: { readonly [code in ErrorCode]?: string } = {
  THROUGHLINE_CONFLICT:
    "Choose an empty target, or one in which a copy of this companion was interrupted.",
  THROUGHLINE_CORRUPT:
    "Pass --with-damage to copy what can be read and mark each record that cannot.",
  // Only a database can be opened while others work on it.
  THROUGHLINE_LOCKED:
    "Stop every `throughline serve` and `throughline chat` that uses this companion in that database, " +
    "on every machine. Then run the same command again.",
};

function withWayOut(error: unknown): unknown {
  if (!isThroughlineError(error) || error instanceof Failed) return error;
  const { code, message } = error;
  const wayOut = waysOut[code];
  return wayOut === undefined ? error : new Failed(message, { code, wayOut, cause: error });
}

function text(
  { logs, records, documents, files }: CopyReport,
  about: { readonly to: string; readonly home: string; readonly stays: readonly string[] },
): string {
  const attachments = files === 0 ? "" : `, ${counted(files, "attachment")}`;
  const what = `${counted(records, "record")} in ${counted(logs, "log")}${attachments}`;
  const lines = [
    `Copied to ${about.to}: ${what} and ${counted(documents, "document")}.`,
    "Every log has as many records there, and the same head.",
  ];
  if (about.stays.length > 0) {
    lines.push(`Not copied, still in ${about.home}: ${about.stays.join(", ")}`);
  }
  return `${lines.join("\n")}\n`;
}
