import { isThroughlineError } from "../../core/errors.ts";
import type { Disk } from "../../core/storage/disk/disk.ts";
import type { PackageEntry, ReadPackages } from "../directory/read-package.ts";
import { packageId } from "../package/package-name.ts";
import type { Manifest } from "../package/record.ts";
import { fillFolder, reportFile, type WriteFile, type WrittenFile } from "./out-folder.ts";
import { createdAt, formats, rowText } from "./rows.ts";
import {
  type ExportSettings,
  exportDefaults,
  type FeedbackExportOptions,
  isLatestOf,
  type Judgement,
  matches,
  type SkipReason,
  skipReasons,
} from "./selection.ts";

/**
 * Writes packages for a trainer into a new folder: rows, a dataset card, and `export-report.json`,
 * which is also the answer. Resolves once the folder is durable. If it rejects, the folder is absent,
 * the earlier export, or the whole new one. Holds one package in memory. The same packages and options
 * make the same bytes.
 *
 * Rejects with the reason of `signal` after an abort, and as the disk and the packages do.
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: something stands at `out`, and `replace` is not
 * set or it is no export. It is as it was.
 */
export async function exportFeedback(
  packages: ReadPackages,
  disk: Disk,
  out: string,
  options: FeedbackExportOptions,
): Promise<FeedbackExportReport> {
  const settings = { ...exportDefaults, ...options };
  return fillFolder(disk, out, settings.replace, async (write, files) => {
    const tally: ExportTally = { listed: 0, notSelected: 0, skipped: [], rows: [] };
    const names = await select(packages, settings, tally);
    const rows = rowsOf(packages, names, settings, { write, tally });
    await write(formats[settings.format].file, rows);
    const written = files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
    const report = exportReport(settings, tally, written);
    await write("README.md", [Buffer.from(datasetCard(report))]);
    await write(reportFile, [Buffer.from(`${JSON.stringify(report, null, 2)}\n`)]);
    settings.signal?.throwIfAborted();
    return report;
  });
}

/** The names of the packages that were asked for and may be exported, sorted. */
async function select(
  packages: ReadPackages,
  { format, filters, removed, signal, onProgress }: ExportSettings,
  tally: ExportTally,
): Promise<readonly string[]> {
  const skip = (name: string, reason: SkipReason) => tally.skipped.push({ name, reason });
  const readable = [];
  // By a kill the mark may be missing, which the newer package tells too.
  const replaced = new Set<string>();
  for await (const entry of packages.entries()) {
    signal?.throwIfAborted();
    const { name, state, manifest, status } = entry;
    if (manifest?.supersedes) replaced.add(manifest.supersedes);
    if (state === "bucket") continue; // there is nothing of it to be read
    tally.listed++;
    const reason = reasonIn(entry);
    if (reason !== undefined || manifest === undefined) skip(name, reason ?? "unverified");
    else {
      const { timestamp, chat_id, target, consent } = manifest;
      const isAsked = matches(manifest, filters);
      readable.push({ name, timestamp, chat_id, target, consent, isAsked, status });
    }
  }
  readable.sort((one, other) => (one.name < other.name ? -1 : 1));
  const judgements: Judgement[] = [];
  const candidates: typeof readable = [];
  for (const [index, one] of readable.entries()) {
    signal?.throwIfAborted();
    const { name, consent, isAsked } = one;
    const reason = replaced.has(packageId(name)) ? "superseded" : await removed?.(name);
    onProgress?.({ phase: "select", done: index + 1, total: readable.length });
    if (reason === undefined) judgements.push(one);
    if (reason !== undefined) skip(name, reason);
    else if (!isAsked) tally.notSelected++;
    else if (!consent.export) skip(name, "no_consent");
    else candidates.push(one);
  }
  const isLatest = isLatestOf(judgements);
  const chosen: string[] = [];
  for (const one of candidates) {
    // Only a package as a whole is exported without saying whose turn is judged.
    if (format !== "jsonl" && !isLatest(one)) skip(one.name, "later_judgement");
    // It may be retracted. It counts against an earlier judgement, as any other that is damaged.
    else if (one.status === undefined) skip(one.name, "unverified");
    else chosen.push(one.name);
  }
  return chosen;
}

/** Why the list says that a package is not even to be read. */
function reasonIn({
  state,
  manifest,
  status,
}: Pick<PackageEntry, "state" | "manifest" | "status">): SkipReason | undefined {
  if (status?.retracted) return status.retracted.superseded_by ? "superseded" : "retracted";
  if (manifest !== undefined) return undefined;
  return state === "newer" ? "newer" : "unverified";
}

/** The rows of these packages, line by line. The pictures of each are written before it. */
async function* rowsOf(
  packages: ReadPackages,
  names: readonly string[],
  options: ExportSettings,
  { write, tally }: { readonly write: WriteFile; readonly tally: ExportTally },
): AsyncGenerator<Uint8Array> {
  for (const [index, name] of names.entries()) {
    options.signal?.throwIfAborted();
    const made = await rowOf(packages, name, options).catch(skipReasonOf);
    if (typeof made === "string") tally.skipped.push({ name, reason: made });
    else {
      tally.rows.push(talliedRow(made.manifest, made));
      for (const { path, bytes } of made.pictures) await write(path, [bytes]);
      yield Buffer.from(rowText(made.row));
    }
    options.onProgress?.({ phase: "write", done: index + 1, total: names.length });
  }
}

/** Makes a row of a package of which every byte is as it was sealed: of a damaged one nothing is exported. */
async function rowOf(packages: ReadPackages, name: string, options: ExportSettings) {
  const { manifest, messages, incomplete, status } = await packages.read(name);
  // Since it was listed.
  const taken = reasonIn({ state: "sealed", manifest, status }) ?? (await options.removed?.(name));
  if (taken !== undefined) return taken;
  if (incomplete.length > 0) return "unverified";
  const part = (path: string) => packages.part(name, path);
  const row = await formats[options.format].row({ manifest, messages, part }, options);
  if (typeof row === "string") return row;
  if ((await packages.verify(name)).state !== "whole") return "unverified";
  return { ...row, manifest };
}

function skipReasonOf(error: unknown): SkipReason {
  if (isThroughlineError(error, "THROUGHLINE_NEWER_FORMAT")) return "newer";
  const isGone = isThroughlineError(error, "THROUGHLINE_NOT_FOUND");
  if (isGone || isThroughlineError(error, "THROUGHLINE_CORRUPT")) return "unverified";
  throw error;
}

/** What an export met so far. */
interface ExportTally {
  listed: number;
  /** The filters did not ask for them; they are in no list. */
  notSelected: number;
  readonly skipped: { readonly name: string; readonly reason: SkipReason }[];
  readonly rows: ReturnType<typeof talliedRow>[];
}

/** What a report says of a row. */
function talliedRow(
  manifest: Manifest,
  { frames, cutTurns }: { readonly frames: number; readonly cutTurns: number },
) {
  const { sentiment, consent } = manifest;
  return { sentiment, wording: consent.wording, at: createdAt(manifest), frames, cutTurns };
}

/** `export-report.json`: what is in an export, and what was left out and why. Holds no clock. */
export type FeedbackExportReport = ReturnType<typeof exportReport>;

const maxWordings = 20;

function exportReport(
  { format, maxFrames, maxPromptChars, filters }: ExportSettings,
  { listed, notSelected, rows, ...tally }: ExportTally,
  files: readonly WrittenFile[],
) {
  const skipped = tally.skipped.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const counted = skipReasons.map((reason) => {
    return [reason, skipped.filter((one) => one.reason === reason).length] as const;
  });
  const sum = (of: (row: ExportTally["rows"][number]) => number) => {
    return rows.reduce((total, row) => total + of(row), 0);
  };
  const times = rows.map(({ at }) => at).sort();
  const wordings = new Set(rows.map(({ wording }) => wording?.toWellFormed()).sort());
  const iso = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString());
  return {
    format,
    /** Only those that the format looks at. */
    options: {
      style: format === "dpo" ? "trl" : null,
      max_frames: format === "imagefolder" ? maxFrames : null,
      max_prompt_chars: format === "jsonl" ? null : maxPromptChars,
    },
    filters: {
      sentiment: filters.sentiment ?? null,
      since: iso(filters.since),
      until: iso(filters.until),
      chat: filters.chat ?? null,
      person: filters.person ?? null,
      source: filters.source ?? null,
      min_score: filters.minScore ?? null,
    },
    packages: {
      listed,
      exported: rows.length,
      not_selected: notSelected,
      skipped: skipped.length,
    },
    rows: {
      total: rows.length,
      positive: sum(({ sentiment }) => Number(sentiment === "positive")),
      negative: sum(({ sentiment }) => Number(sentiment === "negative")),
      frames: sum(({ frames }) => frames),
      /** Rows whose prompt lost whole turns to `max_prompt_chars`, and how many turns in all. */
      cut: sum(({ cutTurns }) => Number(cutTurns > 0)),
      cut_turns: sum(({ cutTurns }) => cutTurns),
    },
    /** Of the triggers, ISO 8601 in UTC; null without rows. */
    first_at: times[0] ?? null,
    last_at: times.at(-1) ?? null,
    /** What people had agreed to, each wording once, sorted; the first 20. */
    consent_wordings: [...wordings]
      .filter((wording) => wording !== undefined)
      .slice(0, maxWordings),
    reasons: Object.fromEntries(counted) as Readonly<Record<SkipReason, number>>,
    /** By name. */
    skipped,
    /** By path. */
    files,
  };
}

/**
 * `README.md` of an export, as the Hugging Face Hub reads it: where the rows are, in YAML that is
 * JSON where a value is free text, then what they are, for people.
 */
function datasetCard({ format, rows, ...report }: FeedbackExportReport): string {
  const { file, says } = formats[format];
  // A pattern that matches nothing is an error to its reader.
  const hasPictures = format === "imagefolder" && rows.frames > 0;
  const wordings = report.consent_wordings.map((wording) => JSON.stringify(wording));
  const configuration = [
    "configs:",
    "- config_name: default",
    // Or `datasets` guesses labels from the names of folders.
    ...(hasPictures ? ["  drop_labels: true"] : []),
    "  data_files:",
    "  - split: train",
    `    path: ${JSON.stringify([file, ...(hasPictures ? ["*/frames/*"] : [])])}`,
  ];
  // As JSON, each on a line: what it says cannot become part of this page.
  const words = [
    "The people agreed to the export in these words:",
    "",
    "```json",
    ...wordings,
    "```",
  ];
  return [
    "---",
    "pretty_name: Judged answers of a companion",
    // Without rows there is no data file, and a configuration that names none fails.
    ...(rows.total === 0 ? [] : configuration),
    "---",
    "",
    "# Judged answers of a companion",
    "",
    says,
    "",
    `- Format: \`${format}\``,
    `- Rows: ${rows.total}, of which ${rows.positive} positive and ${rows.negative} negative: the`,
    "  weights for an uneven split follow from these counts",
    `- Judged from ${report.first_at ?? "never"} to ${report.last_at ?? "never"} (UTC)`,
    `- What was asked for, left out and cut is in \`${reportFile}\``,
    "",
    "## Consent",
    "",
    ...(wordings.length === 0 ? ["No wording was recorded."] : words),
    "",
    "## Retraction",
    "",
    "Who is in these rows may take a judgement back at any time. A retracted or superseded package is",
    "in no later export: export again before training, and delete what this export replaces.",
    "",
  ].join("\n");
}
