import "./markdown.css";
import { type ComponentProps, memo, useMemo } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { Elsewhere, Picture, placeOf } from "./picture.tsx";
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
  pre: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: as above
    <pre tabIndex={0}>{children}</pre>
  ),
};
interface Part {
  readonly type: string;
  readonly tagName?: string;
  readonly children?: readonly Part[];
}

function hasPicture(parts: readonly Part[]): boolean {
  return parts.some(({ tagName, children = [] }) => tagName === "img" || hasPicture(children));
}

type Plugins = ComponentProps<typeof ReactMarkdown>["remarkPlugins"];

/** A model's Markdown. HTML and LaTeX stay text, and pictures are named, not loaded. */
export const Markdown = memo(function Markdown({ text }: { readonly text: string }) {
  const { text: withoutMath, formulas } = useMemo(() => hideMath(text), [text]);
  const plugins: Plugins = [remarkGfm, [remarkVerbatimMath, formulas]];
  return (
    <div className="markdown" dir="auto">
      <ReactMarkdown remarkPlugins={plugins} components={components}>
        {withoutMath}
      </ReactMarkdown>
    </div>
  );
});
