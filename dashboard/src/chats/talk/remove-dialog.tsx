import { useMutation } from "@tanstack/react-query";
import { chatPath, request } from "../../api/client.ts";
import type { Message, MessageReceipt } from "../../api/openapi-types.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";

interface RemoveDialogProps {
  readonly chatId: string;
  readonly message: Message;
  readonly onClose: () => void;
  /** It is done: what opened this is going. */
  readonly onRemoved: () => void;
}

/** Hides one message, or erases it. */
export function RemoveDialog({ chatId, message, onClose, onRemoved }: RemoveDialogProps) {
  const removing = useMutation({
    mutationFn: (erase: boolean) => {
      const path = `${chatPath(chatId)}/messages/${encodeURIComponent(message.id)}`;
      return request<MessageReceipt>(`${path}?erase=${erase}`, { method: "DELETE" });
    },
    onSuccess: ({ unreachable }) => {
      if (unreachable.length === 0) onRemoved();
    },
  });
  const unreachable = removing.data?.unreachable ?? [];
  if (unreachable.length > 0) {
    return (
      <Dialog
        title="Removed here, but not everywhere"
        onClose={onRemoved}
        actions={
          <>
            <Button kind="quiet" onClick={onRemoved}>
              Close
            </Button>
            <Button
              isBusy={removing.isPending}
              onClick={() => removing.mutate(removing.variables ?? false)}
            >
              Try again
            </Button>
          </>
        }
      >
        <p>These places may still hold the message:</p>
        <ul>
          {unreachable.map((place) => (
            <li key={place}>{place}</li>
          ))}
        </ul>
        <ErrorNote error={removing.error} />
      </Dialog>
    );
  }
  return (
    <Dialog
      title="Hide or erase this message?"
      onClose={onClose}
      actions={
        <>
          <Button kind="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button isBusy={removing.isPending} onClick={() => removing.mutate(false)}>
            Hide
          </Button>
          <Button kind="danger" isBusy={removing.isPending} onClick={() => removing.mutate(true)}>
            Erase permanently
          </Button>
        </>
      }
    >
      <p>
        Hide: it is no longer shown or sent to a model. Its text stays on the disk.
        <br />
        Erase: its text is removed from the disk too.
      </p>
      <p>
        Both also apply to copies of this chat, and delete the moments that contain the message.
        Neither can be undone.
      </p>
      <ErrorNote error={removing.error} />
    </Dialog>
  );
}
