import { type ReactNode, useId, useLayoutEffect, useRef } from "react";

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
  /** Buttons, the main one last. */
  readonly actions?: ReactNode;
}

/**
 * A modal dialog while it is rendered. Escape, and a click beside it, close it: one that began beside
 * it too, for who selects text may let go there.
 */
export function Dialog({ title, onClose, children, actions }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const isPressedBeside = useRef(false);
  const titleId = useId();
  // While it is still in the document: what had the focus before gets it back.
  useLayoutEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape does the same, by the element itself
    <dialog
      ref={ref}
      className="dialog"
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onPointerDown={(event) => {
        isPressedBeside.current = event.target === ref.current;
      }}
      onClick={(event) => {
        if (event.target === ref.current && isPressedBeside.current) onClose();
      }}
    >
      <div className="dialog-inner">
        <h2 id={titleId}>{title}</h2>
        <div className="dialog-body">{children}</div>
        {actions === undefined ? null : <div className="dialog-actions">{actions}</div>}
      </div>
    </dialog>
  );
}
