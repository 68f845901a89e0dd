import { useIsMutating, useMutation } from "@tanstack/react-query";
import type { KeyboardEvent } from "react";
import { ProblemError, queryClient, request } from "../../api/client.ts";
import type { Persona, PersonaChange } from "../../api/openapi-types.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { FileCard } from "./file-card.tsx";
import { FileNote } from "./file-note.tsx";
import { useKeptEdit } from "./kept-edit.ts";
import { refreshPrompt } from "./prompt-card.tsx";
import { Said, useSaid } from "./saved.tsx";
import { bytesOf, tokenWords } from "./sizes.ts";

const personaKey = ["persona"] as const;
const personaPath = "/api/persona";

/** Who answers: read and edited. */
export function PersonaCard() {
  return (
    <FileCard<Persona>
      title="Persona"
      says="Who answers. Every model gets this text first, with every message and in every chat."
      queryKey={personaKey}
      path={personaPath}
    >
      {(stored, titleId) => <Editor stored={stored} titleId={titleId} />}
    </FileCard>
  );
}

interface Edit {
  readonly text: string;
  /** Of the text that the edit began with. */
  readonly version: string;
}

function Editor({ stored, titleId }: { readonly stored: Persona; readonly titleId: string }) {
  const [edit, setEdit] = useKeptEdit<Edit>("persona");
  const [said, say] = useSaid();
  const save = useMutation({
    mutationKey: personaKey,
    mutationFn: (body: PersonaChange) => request<Persona>(personaPath, { method: "POST", body }),
    onSuccess(persona) {
      queryClient.setQueryData(personaKey, persona);
      // What was typed since then stays.
      setEdit((now) => {
        const isSaved = now === undefined || now.text.trim() === persona.persona.trim();
        return isSaved ? undefined : { ...now, version: persona.version };
      });
      say("Saved");
      refreshPrompt();
    },
    onError: () => void queryClient.invalidateQueries({ queryKey: personaKey }),
  });
  // Also by an editor that was left since.
  const isSaving = useIsMutating({ mutationKey: personaKey }) > 0;
  const text = edit?.text ?? stored.persona;
  const isChanged = edit !== undefined && edit.text.trim() !== stored.persona.trim();
  const isOutdated = isChanged && edit.version !== stored.version;
  const canEdit = stored.editable && stored.problem === null;
  const tooLong = bytesOf(text) > stored.max_bytes;
  const isBlank = text.trim() === "";
  function change(next: string): void {
    save.reset();
    setEdit({ text: next, version: edit?.version ?? stored.version });
  }
  function submit(version: string): void {
    if (!isChanged || tooLong || isBlank || isSaving) return;
    const isDefault = text.trim() === stored.default.trim();
    save.mutate({ persona: isDefault ? null : text, version });
  }
  function onKey(event: KeyboardEvent): void {
    const isSave = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s";
    if (!isSave) return;
    event.preventDefault();
    if (!isOutdated) submit(edit?.version ?? stored.version);
  }
  return (
    <>
      <FileNote file={stored} name="persona.md" />
      <textarea
        className="field memory-persona"
        aria-labelledby={titleId}
        dir="auto"
        rows={8}
        readOnly={!canEdit}
        value={text}
        onChange={(event) => change(event.target.value)}
        onKeyDown={onKey}
      />
      {isOutdated ? (
        <Outdated
          stored={stored.persona}
          keep={() => submit(stored.version)}
          discard={() => setEdit(undefined)}
        />
      ) : null}
      {isConflict(save.error) && isOutdated ? null : <ErrorNote error={save.error} />}
      {tooLong ? (
        <p className="memory-problem">
          This is longer than {stored.max_bytes / 1024} KiB. Shorten it to save it.
        </p>
      ) : null}
      <div className="row memory-foot">
        <p className="hint">
          {isChanged ? "Not saved" : `${places[stored.source]}, ${tokenWords(stored.tokens)}`}
        </p>
        <Said words={said} />
        {canEdit && !isOutdated && text.trim() !== stored.default.trim() ? (
          <Button kind="quiet" onClick={() => change(stored.default)}>
            Use the default
          </Button>
        ) : null}
        {isChanged && !isOutdated ? (
          <>
            <Button kind="quiet" onClick={() => setEdit(undefined)}>
              Revert
            </Button>
            <Button
              kind="primary"
              title="Ctrl+S or ⌘S"
              isBusy={isSaving}
              disabled={tooLong || isBlank}
              onClick={() => submit(edit.version)}
            >
              Save
            </Button>
          </>
        ) : null}
      </div>
    </>
  );
}

const places = {
  file: "From persona.md",
  configuration: "From the configuration",
  "built-in": "The built-in persona",
} as const;

interface OutdatedProps {
  readonly stored: string;
  readonly keep: () => void;
  readonly discard: () => void;
}

function Outdated({ stored, keep, discard }: OutdatedProps) {
  return (
    <div className="memory-outdated" role="alert">
      <p>The persona was changed elsewhere since you began. Your text above is not saved.</p>
      <details>
        <summary>Show the other text</summary>
        <p className="memory-other" dir="auto">
          {stored}
        </p>
      </details>
      <div className="row memory-foot">
        <Button kind="quiet" onClick={discard}>
          Use the other text
        </Button>
        <Button onClick={keep}>Save mine instead</Button>
      </div>
    </div>
  );
}

function isConflict(error: unknown): boolean {
  return error instanceof ProblemError && error.code === "THROUGHLINE_CONFLICT";
}
