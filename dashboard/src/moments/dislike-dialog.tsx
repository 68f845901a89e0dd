import { type KeyboardEvent, useId, useState } from "react";
import { Check } from "../ui/check.tsx";
import { Confirm } from "../ui/dialog.tsx";
import { type Correction, whyNot } from "./send-reaction.ts";

interface DislikeDialogProps {
  /** What was typed before the dialog was closed without saving it. */
  readonly draft: Correction;
  readonly onDraft: (draft: Correction) => void;
  readonly isSending: boolean;
  readonly error: unknown;
  readonly send: (correction: Correction | undefined) => void;
  readonly onClose: () => void;
}

const kinds = [
  ["replacement", "What should it have said?"],
  ["note", "Add a note"],
] as const;

/** Asks how an answer should have been; what is typed is optional. */
export function DislikeDialog(props: DislikeDialogProps) {
  const { isSending, error, send, onClose } = props;
  const [draft, setDraft] = useState(props.draft);
  const { kind, text } = draft;
  const field = useId();
  function change(changed: Partial<Correction>): void {
    const next = { ...draft, ...changed };
    setDraft(next);
    props.onDraft(next);
  }
  function keep(): void {
    const words = text.trim();
    send(words === "" ? undefined : { text: words, kind });
  }
  return (
    <Confirm
      title="What was wrong?"
      confirm="Save"
      isBusy={isSending}
      onConfirm={keep}
      onClose={onClose}
    >
      <fieldset className="checks" onKeyDown={typeInField}>
        <legend className="visually-hidden">Kind of correction</legend>
        {kinds.map(([value, label]) => (
          <Check
            key={value}
            isRadio
            name={`${field} kind`}
            isOn={kind === value}
            set={() => change({ kind: value })}
          >
            {label}
          </Check>
        ))}
      </fieldset>
      <div>
        <label className="label" htmlFor={field}>
          {kind === "replacement" ? "Better answer" : "Note"} (optional)
        </label>
        <textarea
          ref={takeFocus}
          id={field}
          className="field"
          rows={4}
          readOnly={isSending}
          maxLength={8_000}
          dir="auto"
          value={text}
          onChange={(event) => change({ text: event.target.value })}
        />
      </div>
      {error === null ? null : (
        <p className="error-note" role="alert">
          Not saved: {whyNot(error)}
        </p>
      )}
    </Confirm>
  );
}

/** A modal dialog gives the focus to the element with this attribute. React only calls `focus()`. */
function takeFocus(field: HTMLTextAreaElement | null): void {
  field?.toggleAttribute("autofocus", true);
}

/** A letter that is typed on a radio button goes into the field. */
function typeInField({ key, ctrlKey, metaKey, altKey, currentTarget }: KeyboardEvent): void {
  if ([...key].length !== 1 || key === " " || ctrlKey || metaKey || altKey) return;
  currentTarget.closest("dialog")?.querySelector("textarea")?.focus();
}
