import type { Writable } from "node:stream";
import { styleText } from "node:util";

/** Whether the stream is a terminal with styles, or `FORCE_COLOR` asks for them, and `NO_COLOR` does not forbid them. */
export function isStyled(stream: Writable): boolean {
  return styleText("bold", "x", { stream }) !== "x";
}

type Style = "bold" | "italic" | "dim" | "cyan";

/** What may still become a fence or a heading. */
const undecided = /^[ \t]*(?:`*|~*|#{0,6})$/;
const fenceStart = /^[ \t]*(`{3,}(?=[^`\n]*(?:\n|$))|~{3,})/;
/** A fence is decided by its whole line, or by so much of it. */
const longestFence = 200;

/**
 * Styles Markdown that arrives in pieces, for a terminal: headings, bold, italics and code. Every character comes
 * out in its order, markers too: only styles are added. What may still become a marker is held back until more
 * comes. A style ends with its line, but for a block of code.
 */
export class MarkdownStyler {
  #held = "";
  #isLineStart = true;
  /** The character before the held ones. */
  #before = "";
  /** What opened the block of code. */
  #fence = "";
  #line: "text" | "heading" | "fence" = "text";
  /** The backticks that opened the span of code. */
  #ticks = "";
  /** What opened them. */
  #bold = "";
  #italic = "";

  /** @returns what can be shown now. */
  push(text: string): string {
    return this.#show(this.#held + text, false);
  }

  /** @returns what was held back. */
  end(): string {
    return this.#show(this.#held, true);
  }

  #show(text: string, isEnd: boolean): string {
    const pieces: { readonly styles: readonly Style[]; text: string }[] = [];
    let from = 0;
    while (from < text.length) {
      const rest = text.slice(from);
      if (this.#isLineStart && !this.#beginsLine(rest, isEnd)) break;
      const isText = this.#line === "text" && this.#fence === "";
      const piece = rest.slice(0, isText ? inText(rest) : inLine(rest));
      const isMarker = isText && /^[`*_]/.test(piece);
      from += piece.length;
      // What comes after a run of markers decides what it means, and a backslash what comes after.
      if ((isMarker || piece === "\\") && from === text.length && !isEnd) {
        from -= piece.length;
        break;
      }
      const styles = isMarker ? this.#marker(piece, text[from] ?? "") : this.#styles();
      const last = pieces.at(-1);
      if (last?.styles.join() === styles.join()) last.text += piece;
      else pieces.push({ styles, text: piece });
      this.#before = piece.at(-1) ?? "";
      if (piece === "\n") this.#endLine();
    }
    this.#held = text.slice(from);
    // Each is closed in itself: wherever the answer ends, what follows has no style of it.
    return pieces.map((piece) => styled(piece.styles, piece.text)).join("");
  }

  /** @returns whether enough of the line is there to tell what it is. */
  #beginsLine(rest: string, isEnd: boolean): boolean {
    const isWhole = isEnd || rest.includes("\n") || rest.length > longestFence;
    if (!isWhole && undecided.test(rest)) return false;
    const [, mark = ""] = fenceStart.exec(rest) ?? [];
    if (mark !== "" && !isWhole) return false;
    this.#isLineStart = false;
    if (this.#fence === "") {
      if (mark !== "") this.#line = "fence";
      else if (/^ {0,3}#{1,6}[ \t]/.test(rest)) this.#line = "heading";
      this.#fence = mark;
    } else if (mark.startsWith(this.#fence) && /^[ \t]*[`~]+[ \t]*(?:\n|$)/.test(rest)) {
      this.#line = "fence";
      this.#fence = "";
    }
    return true;
  }

  #endLine(): void {
    this.#isLineStart = true;
    this.#line = "text";
    this.#ticks = "";
    this.#bold = "";
    this.#italic = "";
  }

  /**
   * Takes a run of backticks, asterisks or underscores.
   *
   * @returns its own styles: what it opens or closes.
   */
  #marker(run: string, after: string): readonly Style[] {
    const before = this.#styles();
    if (run.startsWith("`")) {
      if (this.#ticks === run) this.#ticks = "";
      else if (this.#ticks === "") this.#ticks = run;
      return before.length > 0 && this.#ticks === "" ? before : this.#styles();
    }
    if (this.#ticks !== "" || run.length > 3) return before;
    const [mark = ""] = run;
    const isInWord = (text: string) => mark === "_" && /[\p{L}\p{N}]/u.test(text);
    const opens = /\S/.test(after) && !isInWord(this.#before);
    const closes = /\S/.test(this.#before) && !isInWord(after);
    const isBold = run.length > 1;
    const isItalic = run.length !== 2;
    if (closes && ((isBold && this.#bold === mark) || (isItalic && this.#italic === mark))) {
      if (isBold && this.#bold === mark) this.#bold = "";
      if (isItalic && this.#italic === mark) this.#italic = "";
      return before;
    }
    if (opens && isBold) this.#bold ||= mark;
    if (opens && isItalic) this.#italic ||= mark;
    return this.#styles();
  }

  #styles(): readonly Style[] {
    if (this.#line === "fence") return ["dim"];
    if (this.#fence !== "" || this.#ticks !== "") return ["cyan"];
    const styles: Style[] = [];
    if (this.#line === "heading" || this.#bold !== "") styles.push("bold");
    if (this.#italic !== "") styles.push("italic");
    return styles;
  }
}

function styled(styles: readonly Style[], text: string): string {
  if (styles.length === 0) return text;
  // A line break belongs to no style: some terminals would colour the rest of the line.
  return text.replace(/[^\n]+/g, (line) => {
    return styleText([...styles], line, { validateStream: false });
  });
}

/** How long the next piece of a line is: a run of markers, what is escaped, or what is neither. */
function inText(rest: string): number {
  return /^(?:\n|([`*_])\1*|\\[^\n]?|[^\n`*_\\]+)/.exec(rest)?.[0].length ?? 1;
}

/** The same where nothing is a marker. */
function inLine(rest: string): number {
  return /^(?:\n|[^\n]+)/.exec(rest)?.[0].length ?? 1;
}
