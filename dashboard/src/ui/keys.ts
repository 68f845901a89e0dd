import type { KeyboardEvent as ReactKeyboardEvent } from "react";

/**
 * Keeps the keys of an input method from the page: what they do is its own, until it has ended. Safari says so by
 * the code 229 alone when Enter or Escape ends it.
 */
export function keepInputMethodKeys(): void {
  const stop = (event: KeyboardEvent) => {
    if (event.isComposing || event.keyCode === 229) event.stopImmediatePropagation();
  };
  window.addEventListener("keydown", stop, true);
}

/** Says whether Enter begins a new line: where it is the only way to, on a keyboard of the screen. */
export function isEnterNewLine(): boolean {
  return window.matchMedia("(hover: none) and (pointer: coarse)").matches;
}

/** Says whether a key sends what was typed in a field of several lines. */
export function isSendKey({ key, shiftKey }: ReactKeyboardEvent): boolean {
  return key === "Enter" && !shiftKey && !isEnterNewLine();
}
