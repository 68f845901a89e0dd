import { type KeyboardEvent, useEffect, useRef } from "react";
import type { Facts } from "../../api/openapi-types.ts";
import { useKeptEdit } from "../../chats/memory/kept-edit.ts";
import { Button } from "../../ui/button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { asFact } from "./facts-text.ts";

interface Props {
  readonly line: Facts["lines"][number];
  readonly canEdit: boolean;
  /** It was changed just now: it has the focus. */
  readonly isFocused: boolean;
  /** Resolves once it is stored; rejects if it could not be, which is shown elsewhere. */
  readonly save: (fact: string) => Promise<unknown>;
  readonly remove: () => void;
}

/** One fact. */
export function FactRow({ line, canEdit, isFocused, save, remove }: Props) {
  const [edit, setEdit] = useKeptEdit<string>(`fact ${line.text}`);
  const button = useRef<HTMLButtonElement>(null);
  const wasOpen = useRef(false);
  const isOpen = edit !== undefined;
  useEffect(() => {
    if (!isOpen && (wasOpen.current || isFocused)) button.current?.focus();
    wasOpen.current = isOpen;
  }, [isOpen, isFocused]);
  if (edit !== undefined) {
    const submit = () => {
      const fact = asFact(edit);
      if (fact === "" || fact === line.text) setEdit(undefined);
      else void save(fact).then(() => setEdit(undefined), ignore);
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

/** The list says why. */
export function ignore(): void {
  // what was typed stays
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
  useEffect(() => field.current?.focus(), []);
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
