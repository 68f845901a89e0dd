import type { FeedbackExportReport } from "./export-report.ts";
import { type FormatFacts, formatFacts } from "./format-facts.ts";

/**
 * `README.md` of an export, as the Hugging Face Hub reads it: where the rows are, in YAML that is
 * JSON where a value is free text, then what they are, for people.
 */
export function datasetCard(report: FeedbackExportReport): string {
  const facts = formatFacts(report);
  const { rows, packages, filters } = report;
  const asked = Object.entries(filters).filter(([, value]) => value !== null);
  return [
    ...["---", ...header(report, facts), "---", ""],
    ...["# Judged answers of a companion", "", facts.says, ""],
    `- Format: \`${report.format}\``,
    `- Rows: ${rows.total}, of which ${rows.positive} positive and ${rows.negative} negative: the`,
    "  weights for an uneven split follow from these counts",
    `- Packages: ${packages.listed} looked at, ${packages.not_selected} not asked for, ` +
      `${packages.skipped} left out`,
    `- Left out, one by one in \`export-report.json\`: ${reasonsText(report)}`,
    `- Judged from ${report.first_at ?? "never"} to ${report.last_at ?? "never"} (UTC)`,
    `- Filters: ${asked.length === 0 ? "none" : `\`${JSON.stringify(Object.fromEntries(asked))}\``}`,
    `- Pictures: ${rows.frames} in all, ${perRow(rows.frames, rows.total)} a row`,
    `- Prompts cut to their length: ${rows.cut}, by ${rows.cut_turns} whole turns in all`,
    "",
    ...consent(report),
    ...["## Retraction", ""],
    "Who is in these rows may take a judgement back at any time. A retracted or superseded package is",
    "in no later export: export again before training, and delete what this export replaces.",
    "",
  ].join("\n");
}

function header(report: FeedbackExportReport, { dataFiles, dropLabels }: FormatFacts): string[] {
  const lines = ["pretty_name: Judged answers of a companion"];
  // Without rows there is no data file, and a configuration that names none fails.
  if (report.rows.total === 0) return lines;
  return [
    ...lines,
    "configs:",
    "- config_name: default",
    ...(dropLabels ? ["  drop_labels: true"] : []),
    "  data_files:",
    "  - split: train",
    `    path: ${JSON.stringify(dataFiles)}`,
  ];
}

function reasonsText({ reasons }: FeedbackExportReport): string {
  const met = Object.entries(reasons).filter(([, count]) => count > 0);
  return met.length === 0 ? "none" : met.map(([reason, count]) => `${reason} ${count}`).join(", ");
}

function perRow(frames: number, rows: number): string {
  return rows === 0 ? "0" : (frames / rows).toFixed(1);
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
