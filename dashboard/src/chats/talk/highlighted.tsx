import "./highlighted.css";
import { common, createLowlight } from "lowlight";
import { createElement, type ReactNode, useMemo } from "react";

interface Props {
  readonly code: string;
  readonly grammar: string;
}

interface Part {
  readonly type: string;
  readonly value?: string;
  readonly properties?: { readonly className?: unknown };
  readonly children?: readonly unknown[];
}

const lowlight = createLowlight(common);

/** Code with a class for each kind of word in it: highlighted.css has their colours. */
export function Highlighted({ code, grammar }: Props) {
  return useMemo(() => shown(lowlight.highlight(grammar, code)), [code, grammar]);
}

/** Spans and texts only, whatever the code says. */
function shown({ type, value, properties, children = [] }: Part): ReactNode {
  if (type === "text") return value;
  const inside = children.map((child) => shown(child as Part));
  if (type !== "element") return createElement("span", null, ...inside);
  const classes = properties?.className;
  const className = Array.isArray(classes) ? classes.join(" ") : undefined;
  return createElement("span", { className }, ...inside);
}
