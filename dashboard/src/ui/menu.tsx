import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { Button } from "./button.tsx";
import { Icon } from "./icon.tsx";

interface MenuProps {
  /** What the menu is of. */
  readonly label: string;
  /** Buttons and links; using one closes the menu. */
  readonly children: ReactNode;
}

/** More that can be done, behind one button. Escape and looking elsewhere close it. */
export function Menu({ label, children }: MenuProps) {
  const [isOpen, setIsOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();
  useEffect(() => {
    if (!isOpen) return;
    /** Somebody looks elsewhere: by pointer, or by keyboard. */
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
  /** What opens now, as a dialog, gives the focus back to what had it: the item is hidden by then. */
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
      <div id={id} className="menu-list" hidden={!isOpen}>
        {/* biome-ignore lint/a11y/useKeyWithClickEvents: a key on what is inside clicks it */}
        {/* biome-ignore lint/a11y/noStaticElementInteractions: what is inside is interactive */}
        <div onClick={() => used()}>{children}</div>
      </div>
    </div>
  );
}
