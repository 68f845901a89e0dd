import type { Disk } from "../../core/storage/disk/disk.ts";
import {
  type ExportTally,
  exportReport,
  type FeedbackExportReport,
  talliedRow,
} from "./export-report.ts";
import { formats } from "./formats.ts";
import { type ExportSource, OpenPackage, openManifest, SkippedPackage } from "./open-package.ts";
import { type ExportSettings, exportSettings, type FeedbackExportOptions } from "./options.ts";
import { OutFolder, reportFile } from "./out-folder.ts";
import { rowText } from "./rows.ts";
import { type Judgement, Judgements, matches } from "./selection.ts";

/**
 * Writes packages for a trainer into a new folder: rows, a dataset card, and `export-report.json`,
 * which is also the answer. Resolves once the folder is durable. If it rejects, the folder is absent,
 * the earlier export, or the whole new one. Reads each file of a chosen package once, and holds one
 * package in memory. The same packages and options make the same bytes.
 *
 * Rejects with the reason of `signal` after an abort, and as the disk and the source do.
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: an option is out of its bounds.
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: something stands at `out`, and `replace` is not
 * set or it is no export. It is as it was.
 */
export async function exportFeedback(
  source: ExportSource,
  disk: Disk,
  out: string,
  options: FeedbackExportOptions,
): Promise<FeedbackExportReport> {
  const resolved = exportSettings(options);
  const folder = await OutFolder.begin(disk, out, resolved.replace);
  try {
    const tally: ExportTally = { listed: 0, notSelected: 0, skipped: [], rows: [] };
    const names = await select(source, resolved, tally);
    await writeRows(source, names, resolved, { folder, tally });
    const report = exportReport(resolved, tally, folder.files);
    await folder.write("README.md", Buffer.from(datasetCard(report)));
    await folder.write(reportFile, Buffer.from(`${JSON.stringify(report, null, 2)}\n`));
    resolved.signal?.throwIfAborted();
    await folder.commit();
    return report;
  } catch (error) {
    // What it cannot remove the next export removes; the first error is the news.
    await folder.discard().catch(() => undefined);
    throw error;
  }
}

/** Whether a row says whose turn is judged: a package as a whole is exported without one. */
const isOfTurns = ({ format }: ExportSettings) => format !== "jsonl";

/** The names of the packages that were asked for and may be exported, sorted. */
async function select(
  source: ExportSource,
  options: ExportSettings,
  tally: ExportTally,
): Promise<readonly string[]> {
  const readable = await listReadable(source, tally, options.signal);
  const judgements = new Judgements();
  const candidates: Judgement[] = [];
  for (const [index, name] of readable.entries()) {
    options.signal?.throwIfAborted();
    const manifest = await unlessSkipped(tally, name, () => openManifest(source, name));
    options.onProgress?.({ phase: "select", done: index + 1, total: readable.length });
    if (manifest === undefined) continue;
    judgements.add(manifest);
    if (!matches(manifest, options.filters)) tally.notSelected++;
    else if (!manifest.consent.export) tally.skipped.push({ name, reason: "no_consent" });
    else {
      const { timestamp, chat_id, target } = manifest;
      candidates.push({ name, timestamp, chat_id, target });
    }
  }
  const chosen: string[] = [];
  for (const candidate of candidates) {
    if (!isOfTurns(options) || judgements.isLatest(candidate)) chosen.push(candidate.name);
    else tally.skipped.push({ name: candidate.name, reason: "later_judgement" });
  }
  return chosen;
}

/** The names of the packages that the place that keeps them does not forbid, sorted. */
async function listReadable(
  source: ExportSource,
  tally: ExportTally,
  signal: AbortSignal | undefined,
): Promise<readonly string[]> {
  const readable: string[] = [];
  for await (const { name, reason } of source.list()) {
    signal?.throwIfAborted();
    tally.listed++;
    if (reason === undefined) readable.push(name);
    else tally.skipped.push({ name, reason });
  }
  return readable.sort();
}

async function writeRows(
  source: ExportSource,
  names: readonly string[],
  options: ExportSettings,
  { folder, tally }: { readonly folder: OutFolder; readonly tally: ExportTally },
): Promise<void> {
  const format = formats[options.format];
  for (const [index, name] of names.entries()) {
    options.signal?.throwIfAborted();
    const read = await unlessSkipped(tally, name, async () => {
      const from = new OpenPackage(source, await openManifest(source, name));
      const found = await format.row(from, options);
      await from.verifyRest();
      tally.rows.push(talliedRow(from.manifest, found));
      return found;
    });
    for (const [path, bytes] of read?.pictures ?? []) await folder.write(path, bytes);
    if (read !== undefined) await folder.append(format.file, Buffer.from(rowText(read.row)));
    options.onProgress?.({ phase: "write", done: index + 1, total: names.length });
  }
  await folder.finish();
}

/** @returns undefined: it was skipped, and the report says why. */
async function unlessSkipped<T>(
  tally: ExportTally,
  name: string,
  work: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof SkippedPackage)) throw error;
    tally.skipped.push({ name, reason: error.reason });
    return undefined;
  }
}

/**
 * `README.md` of an export, as the Hugging Face Hub reads it: where the rows are, in YAML that is
 * JSON where a value is free text, then what they are, for people.
 */
function datasetCard(report: FeedbackExportReport): string {
  const { format, rows } = report;
  return [
    ...["---", ...header(report), "---", ""],
    ...["# Judged answers of a companion", "", formats[format].says, ""],
    `- Format: \`${format}\``,
    `- Rows: ${rows.total}, of which ${rows.positive} positive and ${rows.negative} negative: the`,
    "  weights for an uneven split follow from these counts",
    `- Judged from ${report.first_at ?? "never"} to ${report.last_at ?? "never"} (UTC)`,
    `- What was asked for, left out and cut is in \`${reportFile}\``,
    "",
    ...consent(report),
    ...["## Retraction", ""],
    "Who is in these rows may take a judgement back at any time. A retracted or superseded package is",
    "in no later export: export again before training, and delete what this export replaces.",
    "",
  ].join("\n");
}

function header({ format, rows }: FeedbackExportReport): string[] {
  const lines = ["pretty_name: Judged answers of a companion"];
  // Without rows there is no data file, and a configuration that names none fails.
  if (rows.total === 0) return lines;
  // A pattern that matches nothing is an error to its reader.
  const hasPictures = format === "imagefolder" && rows.frames > 0;
  return [
    ...lines,
    "configs:",
    "- config_name: default",
    // Or `datasets` guesses labels from the names of folders.
    ...(hasPictures ? ["  drop_labels: true"] : []),
    "  data_files:",
    "  - split: train",
    `    path: ${JSON.stringify([formats[format].file, ...(hasPictures ? ["*/frames/*"] : [])])}`,
  ];
}

function consent({ consent_wordings }: FeedbackExportReport): readonly string[] {
  const head = ["## Consent", ""];
  if (consent_wordings.length === 0) return [...head, "No wording was recorded.", ""];
  // As JSON, each on a line: what it says cannot become part of this page.
  const lines = consent_wordings.map((wording) => JSON.stringify(wording));
  return [
    ...head,
    "The people agreed to the export in these words:",
    "",
    ...["```json", ...lines, "```", ""],
  ];
}
