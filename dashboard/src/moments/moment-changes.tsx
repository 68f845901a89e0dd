import { useId, useState } from "react";
import type { Difference } from "../api/openapi-types.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { ErrorNote } from "../ui/error-note.tsx";
import { Icon } from "../ui/icon.tsx";
import { MomentDamage } from "./moment-damage.tsx";
import { momentPath, useDelete, useRetract, useVerify } from "./use-moments.ts";

interface Props {
  readonly name: string;
  readonly isRetracted: boolean;
  /** What is known to be damaged before anything is compared. */
  readonly damage: readonly Difference[];
  /** It was deleted. */
  readonly onGone: () => void;
}

/** What can be done with a package: compare it with its seal, take it away, take it back, delete it. */
export function MomentChanges({ name, isRetracted, damage, onGone }: Props) {
  const [asked, setAsked] = useState<"retract" | "delete">();
  const verifying = useVerify(name);
  const close = () => setAsked(undefined);
  const differences = verifying.data?.differences ?? damage;
  return (
    <div className="moment-changes">
      <Button isBusy={verifying.isPending} onClick={() => verifying.mutate()}>
        Verify
      </Button>
      <a className="button" href={`${momentPath(name)}/package.tar`} download={`${name}.tar`}>
        <Icon name="download" size={17} />
        Export
      </a>
      {isRetracted ? null : <Button onClick={() => setAsked("retract")}>Take back…</Button>}
      <Button kind="danger" onClick={() => setAsked("delete")}>
        Delete…
      </Button>
      <p className="hint" role="status">
        {verifying.data?.differences.length === 0 ? "Every byte is as it was sealed." : ""}
      </p>
      <MomentDamage name={name} differences={differences} onRepaired={verifying.reset} />
      {verifying.isError ? <ErrorNote error={verifying.error} /> : null}
      {asked === "retract" ? <RetractDialog name={name} onClose={close} /> : null}
      {asked === "delete" ? <DeleteDialog name={name} onClose={close} onGone={onGone} /> : null}
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
    <Dialog
      title="Take this reaction back?"
      onClose={onClose}
      actions={
        <>
          <Button kind="quiet" onClick={onClose}>
            Keep it
          </Button>
          <Button
            kind="primary"
            isBusy={retracting.isPending}
            onClick={() => retracting.mutate(reason.trim())}
          >
            Take back
          </Button>
        </>
      }
    >
      <p>The moment stays where it is, and nothing is learned from it: no export has it.</p>
      <div>
        <label className="label" htmlFor={field}>
          Why? (optional)
        </label>
        <input
          id={field}
          className="field"
          maxLength={500}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
      </div>
      {retracting.isError ? <ErrorNote error={retracting.error} /> : null}
    </Dialog>
  );
}

function DeleteDialog({ name, onClose, onGone }: DialogProps & Pick<Props, "onGone">) {
  const deleting = useDelete(name, onGone);
  return (
    <Dialog
      title="Delete this moment?"
      onClose={onClose}
      actions={
        <>
          <Button kind="quiet" onClick={onClose}>
            Keep it
          </Button>
          <Button kind="danger" isBusy={deleting.isPending} onClick={() => deleting.mutate()}>
            Delete for good
          </Button>
        </>
      }
    >
      <p>
        Its words, pictures and sound are deleted here, and wherever they were uploaded to. The chat
        itself stays. This cannot be undone.
      </p>
      <p className="hint" role="status">
        {deleting.data ?? ""}
      </p>
      {deleting.isError ? <ErrorNote error={deleting.error} /> : null}
    </Dialog>
  );
}
