import { fenced } from "./model-row.ts";
import { printableLine } from "./printable.ts";
import {
  type Records,
  type RenderedChat,
  type RenderRow,
  renderRows,
  speakers,
} from "./render-rows.ts";

/**
 * A chat as a Markdown document, in pieces: its title, a heading for each day, then who said what when.
 * What was said is a block quote with escaped text; what a model thought is one that is folded. What goes into a tool and comes out of it is a code block, and every name a code span.
 * Nothing that is stored can end its place, become HTML, or make a viewer load something.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`: there is no such zone.
 */
export async function* toMarkdown(
  { zone = "UTC", ...chat }: RenderedChat,
  records: Records,
): AsyncGenerator<string> {
  const rows = renderRows(records, zone);
  const key = span(printableLine(chat.key));
  const title = printableLine(chat.title ?? "");
  const heading = title === "" ? `Chat ${key}` : escaped(title);
  yield `# ${heading}\n\nChat ${key}. Times are in ${span(zone)}.\n`;
  for await (const row of rows) yield `\n${rowText(row)}`;
}

function rowText(row: RenderRow): string {
  if (row.kind === "day") return `## ${row.day}\n`;
  if (row.kind === "note") return `*${row.note}*\n`;
  const by = row.by === "" ? "" : ` ${span(row.by)}`;
  const about = [row.time, ...row.marks].filter((text) => text !== "").join(" · ");
  const blocks = [`**${speakers[row.role]}**${by}${about === "" ? "" : ` · ${about}`}\n`];
  if (row.reasoning !== "") blocks.push(folded("Reasoning", quoted(row.reasoning)));
  if (row.text !== "") {
    blocks.push(row.role === "tool" ? `${fenced(row.text, "text")}\n` : quoted(row.text));
  }
  for (const call of row.calls)
    blocks.push(`Calls ${span(call.name)}:\n`, `${fenced(call.arguments, "text")}\n`);
  for (const { label } of row.files) blocks.push(`File ${span(label)}\n`);
  return blocks.join("\n");
}

/** Quotes a text whose lines are shown as they were written. */
function quoted(text: string): string {
  const lines = text.split("\n").map((line) => line.trimEnd());
  const shown = lines.map((line, index) => {
    const [spaces = ""] = /^\s*/.exec(line) ?? [];
    const end = line !== "" && (lines[index + 1] ?? "") !== "" ? "  " : "";
    const indent = spaces.replaceAll("\t", "    ").replace(/./gsu, "&nbsp;");
    return `${indent}${escapedLine(line.slice(spaces.length))}${end}`;
  });
  return shown.map((line) => (line === "" ? ">\n" : `> ${line}\n`)).join("");
}

/**
 * Escapes what would be more than text. A viewer that makes a link of an address takes a backslash as a part of
 * it, so `<` is written as a reference, and `_` within a word stays.
 */
function escapedLine(line: string): string {
  return line
    .replace(/&(?=#?\w+;)/g, "&amp;")
    .replace(/</g, "&lt;")
    .replace(/[\\`*[~|]|(?<!\w)_|_(?!\w)/g, "\\$&")
    .replace(/^[-+=#>:]/, "\\$&")
    .replace(/^(\d+)([.)])/, "$1\\$2");
}

/** A viewer that shows no HTML shows it open. */
function folded(summary: string, markdown: string): string {
  return `<details>\n<summary>${summary}</summary>\n\n${markdown}\n</details>\n`;
}

/** One line as a code span. Backticks become apostrophes: a span has no escapes. */
function span(line: string): string {
  return line === "" ? "`-`" : `\`${line.replaceAll("`", "'")}\``;
}

/** One line as text that means nothing in Markdown. */
function escaped(line: string): string {
  return line.replace(/[\\`*_[\]<&#~$]/g, "\\$&");
}
