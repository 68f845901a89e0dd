import type { ComponentProps } from "react";

interface ButtonProps extends ComponentProps<"button"> {
  /** `primary`: the one thing to do here. `danger`: cannot be undone. @default "normal" */
  readonly kind?: "primary" | "normal" | "quiet" | "danger";
}

/** A button; never submits a form unless its type says so. */
export function Button({ kind = "normal", className = "", type = "button", ...rest }: ButtonProps) {
  return <button {...rest} type={type} className={`button button-${kind} ${className}`.trim()} />;
}
