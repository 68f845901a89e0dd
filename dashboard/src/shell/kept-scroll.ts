import { type RefObject, useEffect, useEffectEvent, useLayoutEffect } from "react";
import { usePathname, useSearch } from "wouter/use-browser-location";

/** So long the content may take to become as long as it was. */
const restoreMs = 3_000;
/** What a person does who wants to be elsewhere. */
export const moves = ["wheel", "touchstart", "pointerdown", "keydown"] as const;

const tops = new Map<string, number>();
let isBack = false;
// Before anybody else hears of it, and renders. The last two are told by the router.
for (const type of ["popstate", "pushState", "replaceState"]) {
  const note = () => {
    isBack = type === "popstate";
  };
  window.addEventListener(type, note, { capture: true });
}

/** A view that one comes back to is where it was; one that is opened begins at its top. */
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

/** Meanwhile what they scroll to is not where somebody wanted to be. */
const restoring = new WeakSet<HTMLElement>();

/** Scrolls there as soon as there is so much; gives up when somebody moves. @returns what ends it. */
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
