import { type RefObject, useEffect, useLayoutEffect, useRef } from "react";

/** In pixels: to the button, to the edges of the window, and the height. */
const gap = 4;
const edge = 8;
const leastHeight = 120;
const mostHeight = 560;

/**
 * Shows a popover under its button, above everything else and inside of the window. A press or the focus
 * elsewhere calls `leave`.
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
    const element = box.current;
    function place(): void {
      const at = anchor.current?.getBoundingClientRect();
      if (element === null || at === undefined) return;
      const { clientWidth: width, clientHeight: height } = document.documentElement;
      const below = height - at.bottom - gap - edge;
      const room = Math.min(Math.max(below, leastHeight), mostHeight);
      element.style.maxHeight = `${room}px`;
      const x = Math.min(at.left, width - element.offsetWidth - edge);
      element.style.left = `${Math.max(x, edge)}px`;
      element.style.top = `${Math.max(Math.min(at.bottom + gap, height - leastHeight - edge), edge)}px`;
    }
    element?.showPopover();
    place();
    window.addEventListener("resize", place);
    return () => window.removeEventListener("resize", place);
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
