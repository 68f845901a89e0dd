import "./formula.css";
import { createElement, type ReactNode, useMemo } from "react";
import temml from "temml";

interface Props {
  readonly source: string;
  readonly isDisplay: boolean;
  /** The formula as it was written: shown if it cannot be read. */
  readonly children: ReactNode;
}

/** A formula as MathML, which browsers draw themselves. */
export function Rendered({ source, isDisplay, children }: Props) {
  return useMemo(() => mathOf(source, isDisplay), [source, isDisplay]) ?? children;
}

const mostCharacters = 5_000;
/** Browsers lay out deeper ones slowly, and people cannot read them. */
const mostDepth = 60;
/** A formula that defines words could grow without end, and is of no use to others. */
const defines =
  /\\(?:[egx]?def|let|futurelet|global|long|(?:re)?newcommand|providecommand)(?![a-z])/i;
const options = {
  throwOnError: true,
  trust: false,
  maxExpand: 500,
  // In em and points.
  maxSize: [10, 120] as [number, number],
};
const signs = /^(?:\$\$?|\\\(|\\\[)([\s\S]*?)(?:\$\$?|\\\)|\\\])$/;

/** What Temml makes of a formula. */
interface Part {
  /** Absent in a text, and in a list of parts. */
  readonly type?: string;
  readonly text?: string;
  readonly attributes?: Readonly<Record<string, string>>;
  readonly style?: Readonly<Record<string, string>>;
  readonly classes?: readonly string[];
  readonly children?: readonly Part[];
}

function mathOf(source: string, displayMode: boolean): ReactNode {
  if (source.length > mostCharacters || defines.test(source)) return undefined;
  const formula = signs.exec(source)?.[1] ?? source;
  try {
    const wrap = displayMode ? "none" : "tex";
    // Its functions for the document set `style` attributes, which the page's policy refuses.
    const part: Part = temml.__renderToMathMLTree(formula, { ...options, displayMode, wrap });
    return shown(part, 0);
  } catch {
    // It is not LaTeX that Temml knows: people read it as it was written.
    return undefined;
  }
}

function shown(part: Part, depth: number): ReactNode {
  const { type, text, attributes = {}, style, classes = [], children = [] } = part;
  if (depth > mostDepth) throw new RangeError("the formula is too deep");
  if (text !== undefined) return text;
  const inside = children.map((child) => shown(child, depth + 1));
  // A list of parts, or the place of a number, which is a span.
  if (type === undefined && classes.length === 0) return inside;
  const { style: _, ...others } = attributes;
  const className = classes.join(" ") || undefined;
  return createElement(type ?? "span", { ...others, className, style }, ...inside);
}
