// Markdown would take underscores, stars and backslashes out of LaTeX. Before it reads a text, each formula
// gives its place to a token, and gets it back afterwards, as it was written.

interface HiddenMath {
  readonly text: string;
  /** By the number in their tokens. */
  readonly formulas: readonly string[];
}

/** Two characters for private use, which mean nothing to Markdown. */
const token = /\ue000(\d+)\ue001/g;
/** What may begin a formula, or code, in which there are none. */
const opener =
  /^[ \t>]*(?:[-*+]|\d+[.)])?[ \t]*(`{3,}|~{3,})|`+|\\begin\{([A-Za-z]+\*?)\}|\\[\s\S]|\$\$?/gm;
const blankLine = /\n[ \t]*\n/g;

/** Puts tokens in the places of all formulas. */
export function hideMath(text: string): HiddenMath {
  const formulas: string[] = [];
  if (text.includes("\ue000")) return { text, formulas };
  const ends = new Ends(text);
  let hidden = "";
  let from = 0;
  opener.lastIndex = 0;
  for (let found = opener.exec(text); found !== null; found = opener.exec(text)) {
    const [opening, fence, environment] = found;
    if (fence !== undefined) {
      opener.lastIndex = ends.ofFence(fence, opener.lastIndex);
    } else if (opening.startsWith("`")) {
      opener.lastIndex = ends.ofCode(opening, opener.lastIndex);
    } else {
      const end = ends.ofMath(opening, environment, opener.lastIndex);
      if (end === undefined) continue;
      hidden += `${text.slice(from, found.index)}\ue000${formulas.length}\ue001`;
      formulas.push(text.slice(found.index, end));
      from = end;
      opener.lastIndex = end;
    }
  }
  return { text: hidden + text.slice(from), formulas };
}

/** Puts the formulas back into a text that was made of the one with tokens. */
export function showMath(text: string, formulas: readonly string[]): string {
  return text.replace(token, (whole, n: string) => formulas[Number(n)] ?? whole);
}

/** Where what was opened ends. It looks for each mark once only, so that long texts take no time. */
class Ends {
  readonly #text: string;
  readonly #next = new Map<string, number>();

  constructor(text: string) {
    this.#text = text;
  }

  /** One that is not closed goes to the end of the text. */
  ofFence(fence: string, from: number): number {
    const closing = new RegExp(`^[ \\t>]*\\${fence[0]}{${fence.length},}[ \\t]*$`, "gm");
    closing.lastIndex = from;
    return closing.exec(this.#text) === null ? this.#text.length : closing.lastIndex;
  }

  /** @returns `from` where nothing closes it. */
  ofCode(opening: string, from: number): number {
    const limit = this.#blank(from);
    for (let at = this.#after(opening, from); at < limit; ) {
      let end = at;
      while (this.#text[end] === "`") end++;
      if (end - at === opening.length) return end;
      at = this.#after(opening, end);
    }
    return from;
  }

  ofMath(opening: string, environment: string | undefined, from: number): number | undefined {
    const closing = environment === undefined ? closings.get(opening) : `\\end{${environment}}`;
    if (closing === undefined) return undefined;
    const at = this.#after(closing, from);
    if (at === from || at >= this.#blank(from)) return undefined;
    const end = at + closing.length;
    if (opening !== "$") return end;
    const isPrice = /\d/.test(this.#text[from - 2] ?? "") && this.#text[from] !== "\\"; // "5$, or 10$"
    return !isPrice && isFormula(this.#text.slice(from, end + 1)) ? end : undefined;
  }

  #blank(from: number): number {
    return this.#after("", from);
  }

  /** The next place of a mark; of a blank line for "". */
  #after(mark: string, from: number): number {
    const known = this.#next.get(mark);
    if (known !== undefined && known >= from) return known;
    const found = mark === "" ? this.#blankAfter(from) : this.#text.indexOf(mark, from);
    const next = found < 0 ? Number.POSITIVE_INFINITY : found;
    this.#next.set(mark, next);
    return next;
  }

  #blankAfter(from: number): number {
    blankLine.lastIndex = from;
    return blankLine.exec(this.#text)?.index ?? -1;
  }
}

const closings: ReadonlyMap<string, string> = new Map([
  ["\\(", "\\)"],
  ["\\[", "\\]"],
  ["$$", "$$"],
  ["$", "$"],
]);

/** Prices are none: a formula touches both of its signs, has no code in it, and no digit follows it. */
function isFormula(inside: string): boolean {
  return /^[^\s`](?:[^$`]*[^\s$\\`])?\$(?!\d)/.test(inside);
}

interface Node {
  readonly type: string;
  children?: Node[] | undefined;
  [field: string]: unknown;
}

const fields = ["value", "url", "alt", "title", "lang", "meta"] as const;

/** For Markdown's tree: the formulas back in their places, each as an element of its own. */
export function remarkVerbatimMath(formulas: readonly string[]) {
  return (tree: Node): void => {
    if (formulas.length > 0) restore(tree, formulas);
  };
}

function restore(node: Node, formulas: readonly string[]): void {
  for (const field of fields) {
    const value = node[field];
    if (typeof value === "string") node[field] = showMath(value, formulas);
  }
  node.children = node.children?.flatMap((child) => {
    if (child.type === "text") return pieces(String(child["value"]), formulas);
    restore(child, formulas);
    return [child];
  });
}

/** A text as texts and formulas: `split` with a group has the groups at the odd places. */
function pieces(text: string, formulas: readonly string[]): Node[] {
  return text.split(token).flatMap((part, index): Node[] => {
    if (index % 2 === 0) return part === "" ? [] : [{ type: "text", value: part }];
    const data = { hName: "span", hProperties: { className: ["math"], translate: "no" } };
    const value = formulas[Number(part)] ?? "";
    return [{ type: "emphasis", data, children: [{ type: "text", value }] }];
  });
}
