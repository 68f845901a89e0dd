import { type ComponentProps, type ReactNode, useId, useLayoutEffect, useRef } from "react";
import { Button } from "./button.tsx";
import { ErrorNote } from "./error-note.tsx";

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
  /** Buttons, the main one last. */
  readonly actions?: ReactNode;
}

/** A modal dialog while it is rendered. Escape closes it, and so does a click beside it. */
export function Dialog({ title, onClose, children, actions }: DialogProps) {
  const modal = useModal(onClose);
  const titleId = useId();
  return (
    <dialog {...modal} className="dialog" aria-labelledby={titleId}>
      <div className="dialog-inner">
        <h2 id={titleId}>{title}</h2>
        <div className="dialog-body">{children}</div>
        {actions === undefined ? null : <div className="dialog-actions">{actions}</div>}
      </div>
    </dialog>
  );
}

interface DrawerProps {
  readonly label: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** The same at the edge of the screen, as high as it. */
export function Drawer({ label, onClose, children }: DrawerProps) {
  return (
    <dialog {...useModal(onClose)} className="drawer" aria-label={label}>
      {children}
    </dialog>
  );
}

/** A click beside a dialog closes it if it also began there: selecting text may end there. */
function useModal(onClose: () => void): ComponentProps<"dialog"> {
  const ref = useRef<HTMLDialogElement>(null);
  const isPressedBeside = useRef(false);
  // While it is still in the document: what had the focus before gets it back.
  useLayoutEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return {
    ref,
    onCancel: (event) => {
      event.preventDefault();
      onClose();
    },
    onPointerDown: (event) => {
      isPressedBeside.current = event.target === ref.current;
    },
    onClick: (event) => {
      if (event.target === ref.current && isPressedBeside.current) onClose();
    },
  };
}

interface ConfirmProps {
  readonly title: string;
  /** The label of the button that does it. */
  readonly confirm: string;
  /** @default "Cancel" */
  readonly cancel?: string;
  /** A button for another way, which is then the main choice. */
  readonly instead?: ReactNode;
  readonly isDanger?: boolean;
  readonly isBusy?: boolean;
  readonly isDisabled?: boolean;
  /** Why it could not be done; `null`: nothing failed. */
  readonly error?: unknown;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** Asks before something is done. */
export function Confirm(props: ConfirmProps) {
  const { title, confirm, cancel = "Cancel", instead, isDanger = false } = props;
  const { isBusy = false, isDisabled = false, error = null, onConfirm, onClose, children } = props;
  const kind = isDanger ? "danger" : instead === undefined ? "primary" : "quiet";
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          <Button kind="quiet" onClick={onClose}>
            {cancel}
          </Button>
          <Button kind={kind} isBusy={isBusy} disabled={isDisabled} onClick={onConfirm}>
            {confirm}
          </Button>
          {instead}
        </>
      }
    >
      {children}
      <ErrorNote error={error} />
    </Dialog>
  );
}
