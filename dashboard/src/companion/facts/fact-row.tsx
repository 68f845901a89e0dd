import { type KeyboardEvent, useEffect, useRef } from "react";
import type { Facts } from "../../api/openapi-types.ts";
import { useKeptEdit } from "../../chats/memory/kept-edit.ts";
import { Button } from "../../ui/button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { asFact } from "./facts-text.ts";

interface Props {
  /** Of its edit. */
  readonly name: string;
  readonly line: Facts["lines"][number];
  readonly canEdit: boolean;
  /** It was changed just now: it has the focus. */
  readonly isFocused: boolean;
  readonly save: (fact: string) => void;
  readonly remove: () => void;
}

/** One fact. */
export function FactRow({ name, line, canEdit, isFocused, save, remove }: Props) {
  const [edit, setEdit] = useKeptEdit<string>(name);
  const button = useRef<HTMLButtonElement>(null);
  const wasOpen = useRef(false);
  const isOpen = edit !== undefined;
  useEffect(() => {
    if (!isOpen && (wasOpen.current || isFocused)) giveFocus(button.current);
    wasOpen.current = isOpen;
  }, [isOpen, isFocused]);
  if (edit !== undefined) {
    const submit = () => {
      const fact = asFact(edit);
      if (fact === "" || fact === line.text) setEdit(undefined);
      else save(fact);
    };
    return (
      <li className="fact">
        <EditField edit={edit} change={setEdit} submit={submit} cancel={() => setEdit(undefined)} />
        <Button kind="quiet" onClick={() => setEdit(undefined)}>
          Cancel
        </Button>
        <Button onClick={submit}>Save</Button>
      </li>
    );
  }
  return (
    <li className="fact">
      <span className="fact-text" dir="auto">
        {line.text}
        {line.used === "whole" ? null : (
          <span className="tag tag-danger">{line.used === "part" ? "Cut" : "Not used"}</span>
        )}
      </span>
      <span className="fine fact-tokens">{line.tokens.toLocaleString("en-GB")} tokens</span>
      {canEdit ? (
        <>
          <Button
            ref={button}
            kind="quiet"
            className="action"
            aria-label={`Edit: ${line.text}`}
            title="Edit"
            onClick={() => setEdit(line.text)}
          >
            <Icon name="edit" size={17} />
          </Button>
          <Button
            kind="quiet"
            className="action"
            aria-label={`Remove: ${line.text}`}
            title="Remove"
            onClick={remove}
          >
            <Icon name="close" size={17} />
          </Button>
        </>
      ) : null}
    </li>
  );
}

/** Somebody who types elsewhere keeps the focus. */
export function giveFocus(element: HTMLElement | null): void {
  if (document.activeElement?.matches("input, textarea") !== true) element?.focus();
}

interface EditFieldProps {
  readonly edit: string;
  readonly change: (text: string) => void;
  readonly submit: () => void;
  readonly cancel: () => void;
}

/** Enter saves, Escape cancels. */
function EditField({ edit, change, submit, cancel }: EditFieldProps) {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => giveFocus(field.current), []);
  function onKey(event: KeyboardEvent): void {
    if (event.key === "Escape") cancel();
    if (event.key !== "Enter") return;
    event.preventDefault();
    submit();
  }
  return (
    <input
      ref={field}
      className="field"
      aria-label="Edited fact"
      dir="auto"
      autoComplete="off"
      value={edit}
      onChange={({ target }) => change(target.value)}
      onKeyDown={onKey}
    />
  );
}
