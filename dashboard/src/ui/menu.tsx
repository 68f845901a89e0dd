import { type KeyboardEvent, type ReactNode, type RefObject, useId, useRef, useState } from "react";
import { Button } from "./button.tsx";
import { Icon } from "./icon.tsx";
import { useFloating } from "./use-floating.ts";

interface MenuProps {
  readonly label: string;
  /** What the button shows. @default three dots */
  readonly sign?: ReactNode;
  readonly className?: string;
  /** Buttons and links; using one closes the menu. */
  readonly children: ReactNode;
}

/** More actions, behind one button. Escape, a press elsewhere and focus elsewhere close it. */
export function Menu({ label, sign, className = "button-icon", children }: MenuProps) {
  const [isOpen, setIsOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();
  /** A dialog that opens now returns the focus to the button: the item is gone by then. */
  function close(): void {
    button.current?.focus();
    setIsOpen(false);
  }
  function onKey(event: KeyboardEvent): void {
    if (event.key !== "Escape" || !isOpen) return;
    event.preventDefault();
    close();
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: what is inside is interactive
    <div className="menu" onKeyDown={onKey}>
      <Button
        ref={button}
        kind="quiet"
        className={className}
        aria-label={label}
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        title={label}
        onClick={() => {
          button.current?.focus(); // not every browser does
          setIsOpen(!isOpen);
        }}
      >
        {sign ?? <Icon name="more" />}
      </Button>
      {isOpen ? (
        <List id={id} anchor={button} leave={() => setIsOpen(false)} used={close}>
          {children}
        </List>
      ) : null}
    </div>
  );
}

interface ListProps {
  readonly id: string;
  readonly anchor: RefObject<HTMLButtonElement | null>;
  readonly leave: () => void;
  readonly used: () => void;
  readonly children: ReactNode;
}

function List({ id, anchor, leave, used, children }: ListProps) {
  const list = useFloating(anchor, leave);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a key on what is inside clicks it
    // biome-ignore lint/a11y/noStaticElementInteractions: what is inside is interactive
    <div ref={list} id={id} className="menu-list" popover="manual" onClick={used}>
      {children}
    </div>
  );
}
