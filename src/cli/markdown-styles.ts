import type { Writable } from "node:stream";
import { styleText } from "node:util";

/** Says whether the stream is a terminal with styles, or `FORCE_COLOR` asks for them, and `NO_COLOR` does not forbid them. */
export function isStyled(stream: Writable): boolean {
  return styleText("bold", "x", { stream }) !== "x";
}

type Look = "bold" | "cyan" | "";
/** A line break, a run of markers, what is escaped, or what is neither. */
const nextPiece = /\n|\*+|`+|\\[^\n]?|[^\n*`\\]+/y;

/**
 * Styles bold words and code in Markdown that arrives in pieces, for a terminal. Every character comes out in its
 * order, markers too. What may still become a marker is held back until more comes. A style ends with its line,
 * but for a block of code.
 */
export class MarkdownStyler {
  #held = "";
  #isLineStart = true;
  /** The marker of the open block of code. */
  #fence = "";
  #isFenceLine = false;
  /** The marker that opened the bold words or the code. */
  #open = "";

  /** @returns what can be shown now. */
  push(text: string): string {
    return this.#show(this.#held + text, false);
  }

  /** @returns what was held back. */
  end(): string {
    return this.#show(this.#held, true);
  }

  #show(text: string, isEnd: boolean): string {
    const runs: { readonly look: Look; text: string }[] = [];
    let from = 0;
    while (from < text.length) {
      const rest = text.slice(from);
      if (this.#isLineStart && !isEnd && /^[ \t]*(`*|~*)$/.test(rest)) break;
      if (this.#isLineStart) this.#beginLine(rest);
      nextPiece.lastIndex = from;
      const piece = nextPiece.exec(text)?.[0] ?? "";
      // What comes after a marker decides what it means.
      if (/^[*`\\]/.test(piece) && from + piece.length === text.length && !isEnd) break;
      from += piece.length;
      const look = this.#lookOf(piece, text[from] ?? "");
      const last = runs.at(-1);
      if (last?.look === look) last.text += piece;
      else runs.push({ look, text: piece });
    }
    this.#held = text.slice(from);
    return runs.map(styled).join("");
  }

  #beginLine(rest: string): void {
    this.#isLineStart = false;
    const mark = /^[ \t]*(`{3,}|~{3,})/.exec(rest)?.[1] ?? "";
    this.#isFenceLine = this.#fence === "" ? mark !== "" : mark.startsWith(this.#fence);
    if (this.#isFenceLine) this.#fence = this.#fence === "" ? mark : "";
  }

  #lookOf(piece: string, after: string): Look {
    if (piece === "\n") {
      this.#isLineStart = true;
      this.#isFenceLine = false;
      this.#open = "";
      return "";
    }
    const isCode = this.#fence !== "" || this.#isFenceLine;
    const before = this.#open;
    if (!isCode && this.#open === piece) this.#open = "";
    else if (!isCode && this.#open === "" && opens(piece, after)) this.#open = piece;
    const marker = before || this.#open;
    if (isCode || marker.startsWith("`")) return "cyan";
    return marker === "" ? "" : "bold";
  }
}

function styled({ look, text }: { readonly look: Look; readonly text: string }): string {
  return look === "" ? text : styleText(look, text, { validateStream: false });
}

function opens(piece: string, after: string): boolean {
  return piece.startsWith("`") || (piece === "**" && /\S/.test(after));
}
