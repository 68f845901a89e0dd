import { type ReactNode, useEffect, useId, useLayoutEffect, useRef, useState } from "react";
import { Button } from "./button.tsx";
import { Icon } from "./icon.tsx";

interface MenuProps {
  readonly label: string;
  /** What the button shows. @default three dots */
  readonly sign?: ReactNode;
  readonly className?: string;
  /** Buttons and links; using one closes the menu. */
  readonly children: ReactNode;
}

/** Between the button and the list. In pixels, as all of this. */
const gap = 4;
/** The list is at least this high, also where it does not fit. */
const leastRoom = 120;
/** The list keeps this distance from the sides of the window. */
const margin = 8;

/** More actions, behind one button. Escape, a press elsewhere and focus elsewhere close it. */
export function Menu({ label, sign, className = "button-icon", children }: MenuProps) {
  const [isOpen, setIsOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    if (isOpen && box.current !== null && list.current !== null) place(list.current, box.current);
  }, [isOpen]);
  useEffect(() => {
    if (!isOpen) return;
    function onElsewhere(event: Event): void {
      if (!box.current?.contains(event.target as Node)) setIsOpen(false);
    }
    /** The list would stay behind. */
    function onScroll(): void {
      if (box.current !== null && list.current !== null) place(list.current, box.current);
    }
    function onKey(event: KeyboardEvent): void {
      if (event.key !== "Escape") return;
      event.preventDefault();
      setIsOpen(false);
      button.current?.focus();
    }
    document.addEventListener("pointerdown", onElsewhere);
    document.addEventListener("focusin", onElsewhere);
    document.addEventListener("keydown", onKey, true);
    document.addEventListener("scroll", onScroll, true);
    return () => {
      document.removeEventListener("pointerdown", onElsewhere);
      document.removeEventListener("focusin", onElsewhere);
      document.removeEventListener("keydown", onKey, true);
      document.removeEventListener("scroll", onScroll, true);
    };
  }, [isOpen]);
  /** A dialog that opens now returns the focus to the button: the item is hidden by then. */
  function used(): void {
    button.current?.focus();
    setIsOpen(false);
  }
  return (
    <div ref={box} className="menu">
      <Button
        ref={button}
        kind="quiet"
        className={className}
        aria-label={label}
        aria-expanded={isOpen}
        aria-controls={id}
        title={label}
        onClick={() => setIsOpen(!isOpen)}
      >
        {sign ?? <Icon name="more" />}
      </Button>
      <div ref={list} id={id} className="floating menu-list" hidden={!isOpen}>
        {/* biome-ignore lint/a11y/useKeyWithClickEvents: a key on what is inside clicks it */}
        {/* biome-ignore lint/a11y/noStaticElementInteractions: what is inside is interactive */}
        {isOpen ? <div onClick={() => used()}>{children}</div> : null}
      </div>
    </div>
  );
}

/**
 * Opens the list where there is room for it: below, and where the view ends too soon, above. It is
 * fixed: what the button scrolls with does not cut it.
 */
function place(list: HTMLElement, box: HTMLElement): void {
  const view = box.closest("#content")?.getBoundingClientRect();
  const { top, bottom, right } = box.getBoundingClientRect();
  const below = Math.min(view?.bottom ?? window.innerHeight, window.innerHeight) - bottom - gap;
  const above = top - Math.max(view?.top ?? 0, 0) - gap;
  list.style.removeProperty("--room");
  const isUp = list.offsetHeight > below && above > below;
  list.style.setProperty("--room", `${Math.max(isUp ? above : below, leastRoom)}px`);
  const { offsetHeight: height, offsetWidth: width } = list;
  const left = Math.min(right - width, window.innerWidth - width - margin);
  list.style.left = `${Math.max(left, margin)}px`;
  list.style.top = `${isUp ? top - gap - height : bottom + gap}px`;
}
