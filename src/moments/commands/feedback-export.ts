import { resolve } from "node:path";
import type { Context } from "../../cli/command.ts";
import { wrongUsage } from "../../cli/failure.ts";
import { counted, json } from "../../cli/format.ts";
import { showProgress, tell, untilStopped, write } from "../../cli/io.ts";
import { wrongOut } from "../../cli/out-path.ts";
import { assertOutsideHome, placeToHome } from "../../cli/outside-home.ts";
import type { Routes } from "../../cli/routes.ts";
import { resolveSettings } from "../../cli/settings.ts";
import { realDisk } from "../../core/storage/disk/disk.ts";
import { exportFeedback } from "../export/export-feedback.ts";
import type { FeedbackExportReport } from "../export/export-report.ts";
import type { FeedbackExportOptions } from "../export/options.ts";
import { momentsRoutes } from "../routes.ts";
import { exportSource } from "./export-source.ts";
import { type JsonFlag, packagesOf } from "./feedback.ts";
import { startConfiguredMoments } from "./start-moments.ts";

type Filters = NonNullable<FeedbackExportOptions["filters"]>;

interface ExportFlags extends JsonFlag, Omit<FeedbackExportOptions, "filters"> {
  readonly out: string;
  readonly sentiment?: Filters["sentiment"];
  /** Milliseconds since 1970. */
  readonly since?: number;
  readonly until?: number;
  readonly chat?: string;
  readonly person?: string;
  readonly source?: Filters["source"];
  readonly minScore?: number;
}

/** `feedback export`. */
export async function exportPackages(flags: ExportFlags, context: Context): Promise<void> {
  const { io } = context;
  await assertApart(flags, resolveSettings(flags, context.env).home);
  const { format, style, replace, maxFrames, maxPromptChars } = flags;
  const work = async (routes: Routes) => {
    const out = resolve(flags.out);
    const source = exportSource(packagesOf(flags, context), routes);
    const exportUntil = (signal: AbortSignal) =>
      exportFeedback(source, realDisk, out, {
        format,
        filters: filtersOf(flags),
        signal,
        onProgress: ({ phase, done, total }) => showProgress(io, `${phase} ${done}/${total}`),
        style,
        replace,
        maxFrames,
        maxPromptChars,
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

function filtersOf(flags: ExportFlags): Filters {
  const { sentiment, since, until, chat, person, source, minScore } = flags;
  return {
    sentiment,
    sinceMs: since,
    untilMs: until,
    chatId: chat,
    person,
    source,
    minScore,
  };
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
