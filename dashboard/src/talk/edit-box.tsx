import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { Button } from "../ui/button.tsx";

interface EditBoxProps {
  readonly content: string;
  readonly send: (content: string) => void;
  readonly cancel: () => void;
}

/** Other words in the place of what was said. The chat stays as it is: this goes on in a new one. */
export function EditBox({ content, send, cancel }: EditBoxProps) {
  const [text, setText] = useState(content);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    field.current?.focus();
    field.current?.setSelectionRange(content.length, content.length);
  }, [content]);
  function submit(): void {
    if (text.trim() !== "") send(text);
  }
  function onKey(event: KeyboardEvent): void {
    if (event.key === "Escape") {
      event.stopPropagation();
      cancel();
    }
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
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
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKey}
        />
        <p className="hint">This chat stays as it is. The edited message goes on in a new one.</p>
        <div className="dialog-actions">
          <Button kind="quiet" onClick={cancel}>
            Cancel
          </Button>
          <Button kind="primary" onClick={submit} disabled={text.trim() === ""}>
            Send in a new chat
          </Button>
        </div>
      </div>
    </div>
  );
}
