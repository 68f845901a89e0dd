import "./code-block.css";
import { lazy, memo, Suspense } from "react";
import { CopyButton } from "../../ui/action.tsx";
import { Icon } from "../../ui/icon.tsx";
import { languageOf } from "./code-languages.ts";

interface Props {
  readonly code: string;
  /** As it is written after the fence; "" for none. */
  readonly language: string;
  /** More of it is coming. */
  readonly isOpen: boolean;
}

/** Longer code stays plain: it would keep the page busy, and fill it with elements. */
const mostHighlighted = 50_000;

/** Loaded with the first block that it can highlight. Where that fails, code stays plain. */
const Highlighted = lazy(async () => {
  try {
    const { Highlighted } = await import("./highlighted.tsx");
    return { default: Highlighted };
  } catch {
    return { default: Plain };
  }
});

function Plain({ code }: { readonly code: string }) {
  return code;
}

/** Code with its language and a button that copies it. Highlighted once it is whole. */
export const CodeBlock = memo(function CodeBlock({ code, language, isOpen }: Props) {
  const { grammar, title } = languageOf(language);
  const isPlain = isOpen || grammar === undefined || code.length > mostHighlighted;
  return (
    <div className="code-block">
      <div className="fine code-head">
        <span className="clip" translate="no">
          {title}
        </span>
        <CopyButton text={code.replace(/\n$/, "")} what="code" className="small code-copy">
          <Icon name="copy" size={15} />
        </CopyButton>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
      <pre tabIndex={0} dir="ltr" translate="no">
        <code>
          {isPlain ? (
            code
          ) : (
            <Suspense fallback={code}>
              <Highlighted code={code} grammar={grammar} />
            </Suspense>
          )}
        </code>
      </pre>
    </div>
  );
});
