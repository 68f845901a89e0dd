import "./markdown.css";
import {
  type ComponentProps,
  memo,
  type ReactNode,
  startTransition,
  useEffect,
  useMemo,
  useState,
} from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkBreaks from "remark-breaks";
import { useCjkBold } from "./cjk-bold.ts";
import { CodeBlock } from "./code-block.tsx";
import { Formula } from "./formula.tsx";
import { Elsewhere, Picture, placeOf } from "./picture.tsx";
import { piecesOf } from "./pieces.ts";
import { remarkGfm } from "./remark-gfm.ts";
import { hideMath, remarkVerbatimMath } from "./verbatim-math.ts";

const components: Components = {
  a: ({ href, title, children, node }) => {
    // A dangerous address was removed.
    if (href === undefined || href === "") return <span>{children}</span>;
    // The picture has a link of its own.
    if (hasPicture(node?.children ?? [])) {
      return (
        <span>
          {children}{" "}
          <Elsewhere href={href} title={title}>
            {placeOf(href)}
          </Elsewhere>
        </span>
      );
    }
    return (
      <Elsewhere href={href} title={title}>
        {children}
      </Elsewhere>
    );
  },
  img: ({ src, alt }) => <Picture src={typeof src === "string" ? src : undefined} alt={alt} />,
  input: ({ checked }) => (
    <input
      type="checkbox"
      aria-label={checked ? "Done" : "Not done"}
      checked={checked}
      disabled
      readOnly
    />
  ),
  // Wide tables scroll by themselves; the page does not.
  table: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section className="table-box" tabIndex={0} aria-label="Table">
      <table>{children}</table>
    </section>
  ),
  pre: ({ node }) => <CodeBlock {...codeOf(node)} />,
  span: ({ children }) => <Formula source={String(children)} />,
};

interface Part {
  readonly type: string;
  readonly tagName?: string;
  readonly value?: string;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly children?: readonly Part[];
}

/** What is in a `pre`: one `code` with one text. */
function codeOf(pre: Part | undefined): ComponentProps<typeof CodeBlock> {
  const code = pre?.children?.[0];
  const classes = code?.properties?.["className"];
  const language = Array.isArray(classes) ? String(classes[0]).replace("language-", "") : "";
  const isOpen = code?.properties?.["isOpen"] === true;
  return { code: code?.children?.[0]?.value ?? "", language, isOpen };
}

function hasPicture(parts: readonly Part[]): boolean {
  return parts.some(({ tagName, children = [] }) => tagName === "img" || hasPicture(children));
}

interface Written {
  readonly type: string;
  readonly children?: readonly Written[];
  readonly position?: { readonly start: Place; readonly end: Place } | undefined;
  data?: object;
}

interface Place {
  readonly offset?: number | undefined;
}

/** Marks the code that a text ends with, unless the fence after it is there. */
function remarkOpenCode() {
  return (tree: Written, { value }: { readonly value: unknown }): void => {
    let last: Written | undefined = tree;
    while (last?.children !== undefined) last = last.children.at(-1);
    if (last?.type !== "code") return;
    const { start, end } = last.position ?? {};
    const [first = "", ...rest] = String(value).slice(start?.offset, end?.offset).split("\n");
    const fence = /^(?:`{3,}|~{3,})/.exec(first)?.[0];
    const closing = (rest.at(-1) ?? "").replace(/^[ \t>]+/, "").trimEnd();
    const isClosed = fence !== undefined && closing.startsWith(fence) && new Set(closing).size < 2;
    if (!isClosed) last.data = { hProperties: { isOpen: true } };
  };
}

const blocks = ["paragraph", "heading", "list", "listItem", "blockquote", "tableCell"];

/** Gives each block the direction of its own first word. */
function remarkOwnDirection() {
  const visit = (node: Written): void => {
    if (blocks.includes(node.type)) {
      node.data = { ...node.data, hProperties: { dir: "auto" } };
    }
    for (const child of node.children ?? []) visit(child);
  };
  return visit;
}

type Plugins = NonNullable<ComponentProps<typeof ReactMarkdown>["remarkPlugins"]>;

interface MarkdownProps {
  readonly text: string;
  /** More of it is coming. @default false */
  readonly isLive?: boolean;
}

/** Pieces of a text that are read at once. Its end is what is seen first. */
const firstPieces = 4;
/** Pieces that are read together afterwards. */
const morePieces = 12;

/**
 * A model's Markdown. HTML stays text, and pictures are named, not loaded. Pieces that are finished are kept
 * while more is coming. The beginning of a long text is there as it was written until it is read, bit by bit.
 */
export const Markdown = memo(function Markdown({ text, isLive = false }: MarkdownProps) {
  const pieces = useMemo(() => piecesOf(text), [text]);
  const last = pieces.length - 1;
  const [unread, setUnread] = useState(() => Math.max(0, pieces.length - firstPieces));
  useEffect(() => {
    if (unread > 0) startTransition(() => setUnread(Math.max(0, unread - morePieces)));
  }, [unread]);
  return (
    <div className="markdown" dir="auto">
      {pieces.map((piece, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: pieces never change their places
        <Piece key={at} text={piece} isLive={isLive && at === last} isUnread={at < unread} />
      ))}
    </div>
  );
});

/** Pieces that were read, so that an answer which is stored, or scrolled back to, is not read again. */
const known = new Map<string, ReactNode>();
const mostKnown = 500;

type PieceProps = Required<MarkdownProps> & { readonly isUnread: boolean };

const Piece = memo(function Piece({ text, isLive, isUnread }: PieceProps) {
  const cjkBold = useCjkBold(text);
  return useMemo(() => {
    if (isLive) return elementOf(text, cjkBold, true);
    const key = `${cjkBold !== undefined} ${text}`;
    if (isUnread && !known.has(key)) return <p className="markdown-unread">{text}</p>;
    const element = known.get(key) ?? elementOf(text, cjkBold, false);
    const [oldest = ""] = known.keys();
    if (known.size >= mostKnown) known.delete(oldest);
    known.set(key, element);
    return element;
  }, [text, isLive, isUnread, cjkBold]);
});

function elementOf(text: string, cjkBold: Plugins[number] | undefined, isLive: boolean): ReactNode {
  const { text: withoutMath, formulas } = hideMath(text);
  const plugins: Plugins = [
    remarkGfm,
    remarkBreaks,
    [remarkVerbatimMath, formulas],
    remarkOwnDirection,
  ];
  if (cjkBold !== undefined) plugins.push(cjkBold);
  if (isLive) plugins.push(remarkOpenCode);
  // It has no state: called, its elements can be kept.
  return ReactMarkdown({ remarkPlugins: plugins, components, children: withoutMath });
}
