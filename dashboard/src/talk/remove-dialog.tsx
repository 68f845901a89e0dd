import { useMutation } from "@tanstack/react-query";
import { chatPath, request } from "../api/client.ts";
import type { Message, MessageReceipt } from "../api/types.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { ErrorNote } from "../ui/error-note.tsx";

interface RemoveDialogProps {
  readonly chatId: string;
  readonly message: Message;
  readonly onClose: () => void;
}

/** Hides one message, or erases it. */
export function RemoveDialog({ chatId, message, onClose }: RemoveDialogProps) {
  const removing = useMutation({
    mutationFn: (erase: boolean) => {
      const path = `${chatPath(chatId)}/messages/${encodeURIComponent(message.id)}`;
      return request<MessageReceipt>(`${path}?erase=${erase}`, { method: "DELETE" });
    },
    onSuccess: onClose,
  });
  return (
    <Dialog
      title="Hide or erase this message?"
      onClose={onClose}
      actions={
        <>
          <Button kind="quiet" onClick={onClose}>
            Keep it
          </Button>
          <Button kind="danger" disabled={removing.isPending} onClick={() => removing.mutate(true)}>
            Erase for good
          </Button>
          <Button disabled={removing.isPending} onClick={() => removing.mutate(false)}>
            Hide
          </Button>
        </>
      }
    >
      <p>
        Hidden, nobody and no model sees it any more, and its bytes stay on the disk. Erased, they
        are gone too. Neither can be undone here.
      </p>
      {removing.isError ? <ErrorNote error={removing.error} /> : null}
    </Dialog>
  );
}
