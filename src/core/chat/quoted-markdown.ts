// Markdown that somebody else wrote, as a quotation in a document of ours.

/**
 * A text as a block quote that keeps its own Markdown. Whatever it says, all of it lies in this quotation, and
 * a viewer loads nothing for it: HTML stays text, a picture becomes a link, and nothing in it defines a link
 * or a footnote for the rest of the document.
 *
 * Code stays as it is where CommonMark and GFM agree that it is code. Elsewhere the first character of
 * what would be one of those is written as a reference, such as `&lt;`. A viewer shows that only where its own
 * reading is code all the same: in a block that is indented by 4 or more, or after a block whose end depends
 * on the reading.
 *
 * @param keepsLines a line break stays one, as in what a person types.
 */
export function quotedMarkdown(text: string, keepsLines = false): string {
  const lines = text.split("\n").map(withoutTabs);
  const kinds = kindsOf(lines);
  let isPaired = false;
  const quoted = lines.map((line, index) => {
    const kind = kinds[index];
    if (kind === "code") return line;
    if (!isInParagraph(lines, kinds, index - 1)) isPaired = spansPair(lines, kinds, index);
    const disarmed = isPaired ? outsideSpans(line) : disarm(line);
    const isBroken =
      keepsLines && kind === "text" && line !== "" && (lines[index + 1] ?? "") !== "";
    return isBroken ? `${disarmed.trimEnd()}  ` : disarmed;
  });
  return quoted.map((line) => (line === "" ? ">\n" : `> ${line}\n`)).join("");
}

/** `code`: also its fences. `unsure`: code or text. */
type Kind = "code" | "text" | "unsure";

/** Spaces, what begins a list item or a quotation, the fence, and what stands after it. */
const fenceLine = /^( *)((?:(?:>|[-*+]|\d{1,9}[.)]) *)*)(`{3,}(?=[^`]*$)|~{3,})(.*)$/;

function kindsOf(lines: readonly string[]): readonly Kind[] {
  let open: { readonly indent: number; readonly mark: string } | undefined;
  let isLost = false;
  return lines.map((line) => {
    const [, spaces = "", container = "", mark = "", rest = ""] = fenceLine.exec(line) ?? [];
    const indent = spaces.length;
    if (isLost) return "unsure";
    if (open === undefined) {
      if (mark === "") return "text";
      // Where that block ends depends on where its list item or quotation does.
      if (container !== "") isLost = true;
      else open = { indent, mark };
      return isLost || indent > 3 ? "unsure" : "code";
    }
    const { indent: from } = open;
    const kind = from > 3 ? "unsure" : "code";
    const isLess = line.trim() !== "" && line.search(/\S/) < from;
    const isFence = container === "" && rest.trim() === "" && mark.startsWith(open.mark);
    // Also if the block is in a list item, whose content begins at `from` or up to 3 before.
    const ends = isFence && indent >= from && indent <= Math.max(from, 3);
    if (ends) open = undefined;
    else if (isLess || (isFence && from > 0)) isLost = true;
    return isLost ? "unsure" : kind;
  });
}

function isInParagraph(lines: readonly string[], kinds: readonly Kind[], index: number): boolean {
  return index >= 0 && kinds[index] !== "code" && lines[index]?.trim() !== "";
}

/**
 * Whether in the paragraph from this line on each code span ends in its line, however a viewer divides the
 * lines into list items and table cells.
 */
function spansPair(lines: readonly string[], kinds: readonly Kind[], from: number): boolean {
  for (let index = from; index < lines.length; index++) {
    if (index > from && !isInParagraph(lines, kinds, index)) return true;
    const line = lines[index] ?? "";
    // The address or title of a link may hold a backtick.
    const isSure = kinds[index] === "text" && !line.includes("](");
    if (!isSure || line.split("|").some((cell) => spansOf(cell) === undefined)) return false;
  }
  return true;
}

/** Text, code span, text and so on; `undefined`: a backtick has no partner, or may be part of an address. */
function spansOf(text: string): readonly string[] | undefined {
  const parts: string[] = [];
  let start = 0;
  const run = /\\.|`+/gs;
  for (let found = run.exec(text); found !== null; found = run.exec(text)) {
    const [ticks] = found;
    if (ticks.startsWith("\\")) continue;
    const before = text.slice(start, found.index);
    const end = endOfSpan(text, run.lastIndex, ticks.length);
    if (end === undefined || /(?:www\.|:\/\/|@)[^ ]*$/i.test(before)) return undefined;
    parts.push(before, text.slice(found.index, end));
    start = end;
    run.lastIndex = end;
  }
  return [...parts, text.slice(start)];
}

function endOfSpan(text: string, from: number, length: number): number | undefined {
  for (const { 0: ticks, index } of text.slice(from).matchAll(/`+/g)) {
    if (ticks.length === length) return from + index + length;
  }
  return undefined;
}

function outsideSpans(line: string): string {
  const cells = line.split("|").map((cell) => {
    return spansOf(cell)
      ?.map((part, index) => (index % 2 === 0 ? disarm(part) : part))
      .join("");
  });
  return cells.join("|");
}

/** No backslash before the first two: it may count as the end of an address that stands before it. */
const harmless: Readonly<Record<string, string>> = { "<": "&lt;", "!": "&#33;", "]": "]\\" };

/** Of HTML, a picture and a definition. */
function disarm(text: string): string {
  return text.replace(/\\.|<(?=[a-z/!?])|!(?=\[)|\](?=:)/gis, (found) => {
    if (found === "\\<" || found === "\\!") return harmless[found.slice(1)] ?? "";
    return harmless[found] ?? found;
  });
}

/** At a line's start they would count from another column once the line is quoted. */
function withoutTabs(line: string): string {
  const [start = ""] = /^[ \t]*/.exec(line) ?? [];
  let spaces = "";
  for (const character of start) {
    spaces += character === " " ? " " : " ".repeat(4 - (spaces.length % 4));
  }
  return line.trim() === "" ? "" : spaces + line.slice(start.length);
}
