import type { ComponentProps, MouseEvent } from "react";

interface ButtonProps extends ComponentProps<"button"> {
  /** `primary`: the one thing to do here. `danger`: cannot be undone. @default "normal" */
  readonly kind?: "primary" | "normal" | "quiet" | "danger";
  /** Its action is running: a click does nothing. Unlike a disabled button it keeps the focus. */
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

/** A key in a form clicks its button too: nothing is submitted then. */
function ignore(event: MouseEvent): void {
  event.preventDefault();
  event.stopPropagation();
}
