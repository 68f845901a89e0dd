import { type ReactNode, useEffect, useId, useLayoutEffect, useRef, useState } from "react";
import { Button } from "./button.tsx";
import { Icon } from "./icon.tsx";

interface MenuProps {
  readonly label: string;
  /** Buttons and links; using one closes the menu. */
  readonly children: ReactNode;
}

/** Between the button and the list. In pixels, as all of this. */
const gap = 4;
/** The list is at least this high, also where it does not fit. */
const leastRoom = 120;

/** More actions, behind one button. Escape, a press elsewhere and focus elsewhere close it. */
export function Menu({ label, children }: MenuProps) {
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
    function onKey(event: KeyboardEvent): void {
      if (event.key !== "Escape") return;
      event.preventDefault();
      setIsOpen(false);
      button.current?.focus();
    }
    document.addEventListener("pointerdown", onElsewhere);
    document.addEventListener("focusin", onElsewhere);
    document.addEventListener("keydown", onKey, true);
    return () => {
      document.removeEventListener("pointerdown", onElsewhere);
      document.removeEventListener("focusin", onElsewhere);
      document.removeEventListener("keydown", onKey, true);
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
        className="button-icon"
        aria-label={label}
        aria-expanded={isOpen}
        aria-controls={id}
        title={label}
        onClick={() => setIsOpen(!isOpen)}
      >
        <Icon name="more" />
      </Button>
      <div ref={list} id={id} className="menu-list" hidden={!isOpen}>
        {/* biome-ignore lint/a11y/useKeyWithClickEvents: a key on what is inside clicks it */}
        {/* biome-ignore lint/a11y/noStaticElementInteractions: what is inside is interactive */}
        <div onClick={() => used()}>{children}</div>
      </div>
    </div>
  );
}

/** Opens the list where there is room for it: below, and where the view ends too soon, above. */
function place(list: HTMLElement, box: HTMLElement): void {
  const view = document.getElementById("content")?.getBoundingClientRect();
  const { top, bottom } = box.getBoundingClientRect();
  const below = Math.min(view?.bottom ?? window.innerHeight, window.innerHeight) - bottom - gap;
  const above = top - Math.max(view?.top ?? 0, 0) - gap;
  list.style.removeProperty("--room");
  const isUp = list.offsetHeight > below && above > below;
  list.classList.toggle("opens-up", isUp);
  list.style.setProperty("--room", `${Math.max(isUp ? above : below, leastRoom)}px`);
}
