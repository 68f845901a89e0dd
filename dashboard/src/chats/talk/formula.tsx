import { lazy, memo, type ReactNode, Suspense } from "react";

interface Props {
  /** LaTeX with the signs around it. */
  readonly source: string;
}

/** Loaded with the first formula. Where that fails, formulas stay as they were written. */
const Rendered = lazy(async () => {
  try {
    const { Rendered } = await import("./rendered-formula.tsx");
    return { default: Rendered };
  } catch {
    return { default: Written };
  }
});

function Written({ children }: { readonly children: ReactNode }) {
  return children;
}

/** A formula: in its line, or below it if its signs say so, and then it scrolls by itself. */
export const Formula = memo(function Formula({ source }: Props) {
  const written = <span className="math-source">{source}</span>;
  const content = (
    <Suspense fallback={written}>
      <Rendered source={source} isDisplay={isDisplay(source)}>
        {written}
      </Rendered>
    </Suspense>
  );
  if (!isDisplay(source)) {
    return (
      <span className="math" translate="no">
        {content}
      </span>
    );
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: it stands in a paragraph
    <span
      className="math is-display"
      translate="no"
      role="group"
      aria-label="Formula"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
      tabIndex={0}
    >
      {content}
    </span>
  );
});

function isDisplay(source: string): boolean {
  return !/^(?:\$(?!\$)|\\\()/.test(source);
}
