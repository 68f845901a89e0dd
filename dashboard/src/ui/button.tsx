import type { ComponentProps, MouseEvent } from "react";

interface ButtonProps extends ComponentProps<"button"> {
  /** `primary`: the one thing to do here. `danger`: cannot be undone. @default "normal" */
  readonly kind?: "primary" | "normal" | "quiet" | "danger";
  /** What it does is under way: it does nothing, and unlike a disabled one it keeps the focus. */
  readonly isBusy?: boolean;
}

/** A button; never submits a form unless its type says so. */
export function Button({
  kind = "normal",
  isBusy = false,
  className = "",
  type = "button",
  onClick,
  ...rest
}: ButtonProps) {
  return (
    <button
      {...rest}
      type={type}
      className={`button button-${kind} ${className}`.trim()}
      aria-disabled={isBusy || undefined}
      onClick={isBusy ? ignore : onClick}
    />
  );
}

/** Of a click that a key in a form makes too: nothing is submitted. */
function ignore(event: MouseEvent): void {
  event.preventDefault();
  event.stopPropagation();
}
