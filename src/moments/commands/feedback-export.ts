import { resolve } from "node:path";
import type { Context } from "../../cli/command.ts";
import { wrongUsage } from "../../cli/failure.ts";
import { counted, json } from "../../cli/format.ts";
import { showProgress, tell, untilStopped, write } from "../../cli/io.ts";
import { assertOutsideHome, placeToHome, wrongOut } from "../../cli/out-path.ts";
import type { Routes } from "../../cli/routes.ts";
import { resolveSettings } from "../../cli/settings.ts";
import { isFaultOfLog, isThroughlineError } from "../../core/errors.ts";
import { realDisk } from "../../core/storage/disk/disk.ts";
import { exportFeedback, type FeedbackExportReport } from "../export/export-feedback.ts";
import type { ExportFilters, FeedbackExportOptions, SkipReason } from "../export/selection.ts";
import { momentsRoutes } from "../routes.ts";
import { type JsonFlag, packagesOf, startConfiguredMoments } from "./feedback.ts";

interface ExportFlags extends JsonFlag, FeedbackExportOptions, ExportFilters {
  readonly out: string;
}

/** `feedback export`. */
export async function exportPackages(flags: ExportFlags, context: Context): Promise<void> {
  const { io } = context;
  await assertApart(flags, resolveSettings(flags, context.env).home);
  const work = async (routes: Routes) => {
    const out = resolve(flags.out);
    const packages = packagesOf(flags, context);
    const exportUntil = (signal: AbortSignal) =>
      exportFeedback(packages, realDisk, out, {
        ...flags,
        filters: flags,
        signal,
        removed: (name) => removedReason(routes, name),
        onProgress: ({ phase, done, total }) => showProgress(io, `${phase} ${done}/${total}`),
      });
    const report = await untilStopped(io, exportUntil)
      .catch((error: unknown) => Promise.reject(wrongOut(flags.out, error)))
      .finally(() => showProgress(io, ""));
    if (flags.json) return write(io.output, json(report));
    await tellLeftOut(io, report);
    await write(io.output, `${counted(report.rows.total, "row")} in ${flags.out}\n`);
  };
  return context.withRoutes(flags, work, async (throughline, settings) => [
    momentsRoutes(await startConfiguredMoments(throughline, settings)),
  ]);
}

/** `--replace` removes the folder with everything in it. */
async function assertApart({ out, replace }: ExportFlags, home: string): Promise<void> {
  await assertOutsideHome(out, home);
  if (!replace || (await placeToHome(home, out)) === "outside") return;
  throw wrongUsage(`--out ${out} contains the home ${home}, which --replace would remove`);
}

/** A package with a message that was erased is not shown over HTTP; nor is one of a chat that cannot be read. */
async function removedReason(routes: Routes, name: string): Promise<SkipReason | undefined> {
  try {
    await routes.json(`/api/feedback/${name}`);
    return undefined;
  } catch (error) {
    if (isThroughlineError(error, "THROUGHLINE_NOT_FOUND")) return "removed_message";
    if (!isFaultOfLog(error)) throw error;
    await routes.json("/healthz"); // a server that is gone is no fault of one chat
    return "unreadable_chat";
  }
}

/** How many left-out packages are printed. */
const namedAtMost = 20;

async function tellLeftOut(io: Context["io"], report: FeedbackExportReport): Promise<void> {
  const { skipped, packages } = report;
  if (packages.not_selected > 0) {
    await tell(io, `${counted(packages.not_selected, "package")} not selected`);
  }
  if (skipped.length === 0) return;
  await tell(io, "Left out (export-report.json has the full list):");
  for (const { name, reason } of skipped.slice(0, namedAtMost)) {
    await tell(io, `  ${name}: ${reason}`);
  }
  if (skipped.length > namedAtMost) await tell(io, `  … ${skipped.length - namedAtMost} more`);
}
