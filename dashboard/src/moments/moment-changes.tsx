import { useId, useState } from "react";
import type { Difference } from "../api/openapi-types.ts";
import { Button } from "../ui/button.tsx";
import { Confirm } from "../ui/dialog.tsx";
import { ErrorNote } from "../ui/error-note.tsx";
import { Icon } from "../ui/icon.tsx";
import { momentPath, useDelete, usePreserve, useRetract, useVerify } from "./use-moments.ts";

interface Props {
  readonly name: string;
  readonly isRetracted: boolean;
  readonly isPreserved: boolean;
  /** What is known to be damaged before anything is compared. */
  readonly damage: readonly Difference[];
  /** It was deleted. */
  readonly onGone: () => void;
}

/** What can be done with a moment: preserve it, verify it, export it, retract it, delete it. */
export function MomentChanges({ name, isRetracted, isPreserved, damage, onGone }: Props) {
  const [asked, setAsked] = useState<"retract" | "delete">();
  const verifying = useVerify(name);
  const preserving = usePreserve(name);
  const close = () => setAsked(undefined);
  return (
    <div className="row">
      <Button
        aria-pressed={isPreserved}
        title="A preserved moment is not removed when old moments are"
        isBusy={preserving.isPending}
        onClick={() => preserving.mutate(!isPreserved)}
      >
        <Icon name={isPreserved ? "locked" : "unlocked"} size={17} />
        {isPreserved ? "Preserved" : "Preserve"}
      </Button>
      <Button isBusy={verifying.isPending} onClick={() => verifying.mutate()}>
        Verify
      </Button>
      <a className="button" href={`${momentPath(name)}/package.tar`} download={`${name}.tar`}>
        <Icon name="download" size={17} />
        Export
      </a>
      {isRetracted ? null : <Button onClick={() => setAsked("retract")}>Retract…</Button>}
      <Button kind="danger" onClick={() => setAsked("delete")}>
        Delete…
      </Button>
      <p className="hint" role="status">
        {verifying.data?.differences.length === 0 ? "Every file is as it was saved." : ""}
      </p>
      <Damage name={name} differences={verifying.data?.differences ?? damage} />
      <ErrorNote error={verifying.error ?? preserving.error} />
      {asked === "retract" ? <RetractDialog name={name} onClose={close} /> : null}
      {asked === "delete" ? <DeleteDialog name={name} onClose={close} onGone={onGone} /> : null}
    </div>
  );
}

interface DamageProps {
  readonly name: string;
  readonly differences: readonly Difference[];
}

/** Which files are damaged, and what to do about it. */
function Damage({ name, differences }: DamageProps) {
  if (differences.length === 0) return null;
  return (
    <div className="error-note moment-damage" role="alert">
      <p>
        <strong>This moment is damaged.</strong> Intact parts are still shown.
      </p>
      <ul className="bullets">
        {differences.map(({ path, detail }) => (
          <li key={path}>{`${path}: ${detail}`}</li>
        ))}
      </ul>
      <p>Restore these files from a backup of the folder feedback/{name}.</p>
    </div>
  );
}

interface DialogProps {
  readonly name: string;
  readonly onClose: () => void;
}

function RetractDialog({ name, onClose }: DialogProps) {
  const [reason, setReason] = useState("");
  const field = useId();
  const retracting = useRetract(name, onClose);
  return (
    <Confirm
      title="Retract this reaction?"
      confirm="Retract"
      isBusy={retracting.isPending}
      error={retracting.error}
      onConfirm={() => retracting.mutate(reason.trim())}
      onClose={onClose}
    >
      <p>The moment stays here, but it is left out of every export, so no model learns from it.</p>
      <div>
        <label className="label" htmlFor={field}>
          Reason (optional)
        </label>
        <input
          id={field}
          className="field"
          maxLength={500}
          readOnly={retracting.isPending}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
      </div>
    </Confirm>
  );
}

function DeleteDialog({ name, onClose, onGone }: DialogProps & Pick<Props, "onGone">) {
  const deleting = useDelete(name, onGone);
  return (
    <Confirm
      title="Delete this moment?"
      confirm="Delete permanently"
      isDanger
      isBusy={deleting.isPending}
      error={deleting.error}
      onConfirm={() => deleting.mutate()}
      onClose={onClose}
    >
      <p>
        Its text, pictures and sound are deleted here and in every bucket they were uploaded to. The
        chat itself stays. This cannot be undone.
      </p>
      <p className="hint" role="status">
        {deleting.data ?? ""}
      </p>
    </Confirm>
  );
}
