import { useMutation } from "@tanstack/react-query";
import { chatPath, request } from "../../api/client.ts";
import type { Message, MessageReceipt } from "../../api/openapi-types.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm, Dialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";

interface RemoveDialogProps {
  readonly chatId: string;
  readonly message: Message;
  readonly onClose: () => void;
  /** It is done: what opened this is going. */
  readonly onRemoved: () => void;
}

/** Asks once, and erases one message. */
export function RemoveDialog({ chatId, message, onClose, onRemoved }: RemoveDialogProps) {
  const removing = useMutation({
    mutationFn: () => {
      const path = `${chatPath(chatId)}/messages/${encodeURIComponent(message.id)}`;
      return request<MessageReceipt>(path, { method: "DELETE" });
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
            <Button isBusy={removing.isPending} onClick={() => removing.mutate()}>
              Try again
            </Button>
          </>
        }
      >
        <p>These places may still hold the message:</p>
        <ul className="bullets">
          {unreachable.map((place) => (
            <li key={place}>{place}</li>
          ))}
        </ul>
        <ErrorNote error={removing.error} />
      </Dialog>
    );
  }
  return (
    <Confirm
      title="Erase this message?"
      confirm="Erase permanently"
      isDanger
      isBusy={removing.isPending}
      error={removing.error}
      onConfirm={() => removing.mutate()}
      onClose={onClose}
    >
      <p>
        It is no longer shown or sent to a model, and its text is removed from the disk, also in
        copies of this chat. Moments that contain it are deleted. This cannot be undone.
      </p>
    </Confirm>
  );
}
