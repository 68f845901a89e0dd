import type { Writable } from "node:stream";
import { styleText } from "node:util";

/** Says whether the stream is a terminal with styles, or `FORCE_COLOR` asks for them, and `NO_COLOR` does not forbid them. */
export function isStyled(stream: Writable): boolean {
  return styleText("bold", "x", { stream }) !== "x";
}

/**
 * Styles bold words and code in Markdown that arrives in pieces, for a terminal. Every character comes out in its
 * order, markers too. A marker is held back until it is known what comes after it. A style ends with its line,
 * but for a block of code.
 */
export class MarkdownStyler {
  #held = "";
  #isLineStart = true;
  /** The marker of the open block of code. */
  #fence = "";
  /** The marker that opened the bold words or the code. */
  #open = "";

  /** @returns what can be shown now. */
  push(text: string): string {
    const all = this.#held + text;
    this.#held = /[`*]*$/.exec(all)?.[0] ?? "";
    return this.#show(all.slice(0, all.length - this.#held.length));
  }

  /** @returns what was held back. */
  end(): string {
    return this.#show(this.#held);
  }

  #show(text: string): string {
    const pieces = Array.from(text.matchAll(/\n|`+|\*+|[^\n`*]+/g), ([piece]) => piece);
    const shown = pieces.map((piece, at) => this.#styled(piece, pieces[at + 1] ?? "")).join("");
    // A style that ends and begins again goes on.
    return shown.replaceAll("\u001b[22m\u001b[1m", "").replaceAll("\u001b[39m\u001b[36m", "");
  }

  #styled(piece: string, next: string): string {
    if (piece === "\n") {
      this.#isLineStart = true;
      this.#open = "";
      return piece;
    }
    const isFence = this.#isLineStart && piece.startsWith("```");
    const marker = this.#fence || this.#open;
    if (this.#fence !== "") {
      if (isFence && piece.startsWith(this.#fence)) this.#fence = "";
    } else if (isFence) this.#fence = piece;
    else if (this.#open === piece) this.#open = "";
    else if (this.#open === "" && opens(piece, next)) this.#open = piece;
    this.#isLineStart &&= /^[ \t]+$/.test(piece);
    const look = marker || this.#fence || this.#open;
    if (look === "") return piece;
    return styleText(look.startsWith("`") ? "cyan" : "bold", piece, { validateStream: false });
  }
}

function opens(piece: string, next: string): boolean {
  return piece.startsWith("`") || (piece === "**" && /^\S/.test(next));
}
