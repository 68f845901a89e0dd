import { useId, useState } from "react";
import type { Correction } from "../api/moment-types.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { whyNot } from "./use-reactions.ts";

interface DislikeDialogProps {
  readonly isSending: boolean;
  readonly error: Error | null;
  readonly send: (correction: Correction | undefined) => void;
  readonly onClose: () => void;
}

const kinds = [
  ["replacement", "What should it have said?"],
  ["note", "A note about it"],
] as const;

/** A reply was not liked: asks, without insisting, how it should have been. */
export function DislikeDialog({ isSending, error, send, onClose }: DislikeDialogProps) {
  const [kind, setKind] = useState<Correction["kind"]>("replacement");
  const [text, setText] = useState("");
  const field = useId();
  function keep(): void {
    const words = text.trim();
    send(words === "" ? undefined : { text: words, kind });
  }
  return (
    <Dialog
      title="Not like that"
      onClose={onClose}
      actions={
        <>
          <Button kind="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button kind="primary" isBusy={isSending} onClick={keep}>
            Keep this
          </Button>
        </>
      }
    >
      <fieldset className="correction-kinds">
        <legend className="visually-hidden">What you write is</legend>
        {kinds.map(([value, label]) => (
          <label key={value}>
            <input
              type="radio"
              name={`${field} kind`}
              checked={kind === value}
              onChange={() => setKind(value)}
            />
            {label}
          </label>
        ))}
      </fieldset>
      <div>
        <label className="label" htmlFor={field}>
          {kind === "replacement" ? "Its words, as they should have been" : "Note"} (optional)
        </label>
        <textarea
          id={field}
          className="field"
          rows={4}
          maxLength={8_000}
          dir="auto"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </div>
      {error === null ? null : (
        <p className="error-note" role="alert">
          Not kept: {whyNot(error)}
        </p>
      )}
    </Dialog>
  );
}
