import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { Button } from "../../ui/button.tsx";
import { isSendKey } from "../../ui/keys.ts";

interface EditBoxProps {
  readonly content: string;
  /** Just now, by the person: not because its row came into view again. */
  readonly isOpened: boolean;
  readonly onChange: (content: string) => void;
  /** Resolves when it was sent, or could not be: then the words are still here. */
  readonly send: (content: string) => Promise<void>;
  readonly cancel: () => void;
}

/** Edits a message that was sent. Its chat does not change: the edited one continues in a new chat. */
export function EditBox({ content, isOpened, onChange, send, cancel }: EditBoxProps) {
  const [text, setText] = useState(content);
  const [isSending, setIsSending] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (!isOpened) return;
    field.current?.focus({ preventScroll: true });
    field.current?.scrollIntoView({ block: "center" });
    const end = field.current?.value.length ?? 0;
    field.current?.setSelectionRange(end, end);
  }, [isOpened]);
  const isEmpty = text.trim() === "";
  function submit(): void {
    if (isEmpty || isSending) return;
    setIsSending(true);
    void send(text).finally(() => setIsSending(false));
  }
  function onKey(event: KeyboardEvent): void {
    if (event.key === "Escape") {
      event.stopPropagation();
      cancel();
    }
    if (!isSendKey(event)) return;
    event.preventDefault();
    submit();
  }
  return (
    <div className="message message-user">
      <div className="edit-box">
        <textarea
          ref={field}
          className="field"
          aria-label="Edited message"
          dir="auto"
          rows={3}
          readOnly={isSending}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            onChange(event.target.value);
          }}
          onKeyDown={onKey}
        />
        <p className="hint">
          This chat does not change. The edited message continues in a new chat.
        </p>
        <div className="dialog-actions">
          <Button kind="quiet" onClick={cancel}>
            Cancel
          </Button>
          <Button kind="primary" onClick={submit} disabled={isEmpty} isBusy={isSending}>
            Send in a new chat
          </Button>
        </div>
      </div>
    </div>
  );
}
