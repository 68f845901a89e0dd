import { type RefObject, useEffect, useLayoutEffect, useRef } from "react";

/** In pixels, as all of this: to the button, and to the edges of the window. */
const gap = 4;
const edge = 8;
/** The popover is at least this high, also where it does not fit. */
const leastHeight = 120;
const mostHeight = 560;

/**
 * Shows a popover beside its button, above everything else. A press or the focus elsewhere calls `leave`.
 *
 * @returns the ref for the popover.
 */
export function useFloating(
  anchor: { readonly current: HTMLElement | null },
  leave: () => void,
): RefObject<HTMLDivElement | null> {
  const box = useRef<HTMLDivElement>(null);
  const left = useRef(leave);
  left.current = leave;
  useLayoutEffect(() => {
    const [element, button] = [box.current, anchor.current];
    if (element === null || button === null) return;
    element.showPopover();
    place(element, button);
    /** It would stay behind. */
    function onMove({ target }: Event): void {
      const isOwn = target instanceof Node && element?.contains(target) === true;
      if (element !== null && button !== null && !isOwn) place(element, button);
    }
    window.addEventListener("resize", onMove);
    document.addEventListener("scroll", onMove, true);
    return () => {
      window.removeEventListener("resize", onMove);
      document.removeEventListener("scroll", onMove, true);
    };
  }, [anchor]);
  useEffect(() => {
    function onElsewhere({ target }: Event): void {
      const isInside = [box, anchor].some(
        (each) => each.current?.contains(target as Node) === true,
      );
      if (!isInside) left.current();
    }
    document.addEventListener("pointerdown", onElsewhere);
    document.addEventListener("focusin", onElsewhere);
    return () => {
      document.removeEventListener("pointerdown", onElsewhere);
      document.removeEventListener("focusin", onElsewhere);
    };
  }, [anchor]);
  return box;
}

/** Puts it where there is room: below the button and, where the view ends too soon, above it. */
function place(element: HTMLElement, button: HTMLElement): void {
  const view = button.closest("#content")?.getBoundingClientRect();
  const { top, bottom, left, right } = button.getBoundingClientRect();
  const { clientWidth: width, clientHeight: height } = document.documentElement;
  const below = Math.min(view?.bottom ?? height, height) - bottom - gap;
  const above = top - Math.max(view?.top ?? 0, 0) - gap;
  element.style.maxHeight = `${mostHeight}px`;
  const isUp = element.offsetHeight > below && above > below;
  const room = Math.max(isUp ? above : below, leastHeight);
  element.style.maxHeight = `${Math.min(room, mostHeight)}px`;
  const { offsetWidth: wide, offsetHeight: high } = element;
  const x = left + wide + edge <= width ? left : right - wide;
  const y = isUp ? top - gap - high : bottom + gap;
  element.style.left = `${Math.max(Math.min(x, width - wide - edge), edge)}px`;
  element.style.top = `${Math.max(Math.min(y, height - high - edge), edge)}px`;
}
