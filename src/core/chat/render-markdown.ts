import { printableLine } from "./printable.ts";
import {
  type Records,
  type RenderedChat,
  type RenderOptions,
  type RenderRow,
  renderRows,
} from "./render-rows.ts";

const speakers = { user: "User", assistant: "Assistant", tool: "Tool", system: "System" } as const;

/**
 * A chat as a readable CommonMark document, in pieces: a heading for each day, then who said what
 * when. Every stored text lies in a code block, and every stored name in a code span, that nothing in
 * it can close: it cannot become a heading, HTML, a link or an image.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`: there is no such zone.
 */
export async function* toMarkdown(
  chat: RenderedChat,
  records: Records,
  options: RenderOptions,
): AsyncGenerator<string> {
  const rows = renderRows(records, options);
  const title = chat.title === undefined ? "" : `${span(printableLine(chat.title))}\n\n`;
  yield `# Chat ${span(printableLine(chat.key))}\n\n${title}Times are in ${span(options.zone ?? "UTC")}.\n`;
  for await (const row of rows) yield `\n${rowText(row)}`;
}

function rowText(row: RenderRow): string {
  if (row.kind === "day") return `## ${row.day}\n`;
  if (row.kind === "note") return `*${row.note}*\n`;
  const by = row.by === "" ? "" : ` ${span(row.by)}`;
  const about = [row.time, ...row.marks].filter((text) => text !== "").join(" · ");
  const blocks = [`**${speakers[row.role]}**${by}${about === "" ? "" : ` · ${about}`}\n`];
  if (row.reasoning !== "") blocks.push("Reasoning:\n", codeBlock(row.reasoning));
  if (row.text !== "") blocks.push(codeBlock(row.text));
  for (const call of row.calls)
    blocks.push(`Calls ${span(call.name)}:\n`, codeBlock(call.arguments));
  for (const file of row.files) blocks.push(`File ${span(file)}\n`);
  return blocks.join("\n");
}

/** A block whose fence is longer than any run of its character in the text. */
function codeBlock(text: string): string {
  const ticks = longestRun(text, /`+/g);
  const tildes = longestRun(text, /~+/g);
  // The other character where somebody wrote a long fence: the block stays readable.
  const fence =
    ticks <= tildes ? "`".repeat(Math.max(3, ticks + 1)) : "~".repeat(Math.max(3, tildes + 1));
  return `${fence}text\n${text}\n${fence}\n`;
}

/** One line as a code span. Backticks become apostrophes: a span has no escapes. */
function span(line: string): string {
  return line === "" ? "`-`" : `\`${line.replaceAll("`", "'")}\``;
}

function longestRun(text: string, run: RegExp): number {
  return text.match(run)?.reduce((longest, { length }) => Math.max(longest, length), 0) ?? 0;
}
