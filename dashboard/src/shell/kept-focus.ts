import { type RefObject, useEffect } from "react";

/** Elements that only a script can focus: rows, cards, the list of chats, the content itself. */
const takers = "[tabindex='-1']";

/**
 * When the element with the focus is removed, the nearest element around it that is still there gets
 * the focus, in the end the content: otherwise the keyboard would start again at the top of the page.
 *
 * @param page all of it.
 */
export function useKeptFocus(
  page: RefObject<HTMLElement | null>,
  content: RefObject<HTMLElement | null>,
): void {
  useEffect(() => {
    const element = page.current;
    if (element === null) return;
    let around: Element[] = [];
    function onFocus({ target }: FocusEvent): void {
      around = target instanceof Element ? takersAround(target) : [];
    }
    function onChange(): void {
      const [had] = around;
      if (had === undefined || had.isConnected || document.activeElement !== document.body) return;
      const heir = around.find((each) => each.isConnected) ?? content.current;
      if (heir instanceof HTMLElement) heir.focus({ preventScroll: true });
    }
    const changes = new MutationObserver(onChange);
    changes.observe(element, { childList: true, subtree: true });
    document.addEventListener("focusin", onFocus);
    return () => {
      changes.disconnect();
      document.removeEventListener("focusin", onFocus);
    };
  }, [page, content]);
}

/** The element, and from the inside out what around it can be given the focus. */
function takersAround(target: Element): Element[] {
  const around = [target];
  for (let at = target.parentElement?.closest(takers); at; at = at.parentElement?.closest(takers)) {
    around.push(at);
  }
  return around;
}
