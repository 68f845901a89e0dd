import "./markdown.css";
import { memo } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";

/** What leads elsewhere says nothing of this page, and opens beside it. */
const components: Components = {
  a: ({ href, title, children }) => {
    // What could run was emptied: then it leads nowhere.
    if (href === undefined || href === "") return <span>{children}</span>;
    return (
      <a href={href} title={title} target="_blank" rel="noreferrer noopener nofollow">
        {children}
      </a>
    );
  },
  input: ({ checked }) => (
    <input
      type="checkbox"
      aria-label={checked ? "Done" : "Open"}
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
const plugins = [remarkGfm];
/** A picture would be loaded from wherever the words say. */
const refused = ["img"];

/** A model's words as Markdown. HTML in it stays text, pictures are left out. */
export const Markdown = memo(function Markdown({ text }: { readonly text: string }) {
  return (
    <div className="markdown" dir="auto">
      <ReactMarkdown remarkPlugins={plugins} components={components} disallowedElements={refused}>
        {text}
      </ReactMarkdown>
    </div>
  );
});
