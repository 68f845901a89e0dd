import { type RefObject, useEffect, useEffectEvent, useLayoutEffect } from "react";
import { usePathname, useSearch } from "wouter/use-browser-location";

/** How long the content may take to be as long as it was. */
const restoreMs = 3_000;
/** Input that says that the person wants to be elsewhere. */
export const moves = ["wheel", "touchstart", "pointerdown", "keydown"] as const;

const tops = new Map<string, number>();
let isBack = false;
// Captured, so that this runs before anything renders. The router dispatches the last two.
for (const type of ["popstate", "pushState", "replaceState"]) {
  const note = () => {
    isBack = type === "popstate";
  };
  window.addEventListener(type, note, { capture: true });
}

/** A view that is opened again with Back is where it was; any other begins at its top. */
export function useKeptScroll(content: RefObject<HTMLElement | null>): void {
  const path = usePathname();
  const address = path + useSearch();
  const scrolled = useEffectEvent((element: HTMLElement) => {
    if (!restoring.has(element)) tops.set(address, element.scrollTop);
  });
  useEffect(() => {
    const element = content.current;
    const keep = () => {
      if (element !== null) scrolled(element);
    };
    element?.addEventListener("scroll", keep, { passive: true });
    return () => element?.removeEventListener("scroll", keep);
  }, [content]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: at every new path, whatever it is
  useLayoutEffect(() => {
    if (!isBack) content.current?.scrollTo({ top: 0, behavior: "instant" });
  }, [content, path]);
  useLayoutEffect(() => {
    const element = content.current;
    if (element === null) return;
    if (isBack) return restore(element, tops.get(address) ?? 0);
    tops.set(address, element.scrollTop);
    return;
  }, [content, address]);
}

/** Their scroll positions are not what the person chose. */
const restoring = new WeakSet<HTMLElement>();

/** Scrolls there once the content is long enough, unless the person moves. @returns what ends it. */
function restore(element: HTMLElement, top: number): () => void {
  const changes = new MutationObserver(go);
  const timer = setTimeout(end, restoreMs);
  restoring.add(element);
  for (const move of moves) element.addEventListener(move, end, { passive: true });
  changes.observe(element, { childList: true, subtree: true });
  go();
  function go(): void {
    element.scrollTo({ top, behavior: "instant" });
    if (Math.abs(element.scrollTop - top) <= 1) end();
  }
  function end(): void {
    changes.disconnect();
    clearTimeout(timer);
    restoring.delete(element);
    for (const move of moves) element.removeEventListener(move, end);
  }
  return end;
}
