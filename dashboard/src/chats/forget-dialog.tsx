import { chatPath, request } from "../api/client.ts";
import type { ForgetReceipt } from "../api/openapi-types.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { ErrorNote } from "../ui/error-note.tsx";
import type { NamedChat } from "./chat-menu.tsx";
import { chatName } from "./chat-name.ts";
import { showReceipt } from "./receipt.ts";
import { useChatChange } from "./use-chat-change.ts";

interface ForgetDialogProps {
  readonly chat: NamedChat;
  readonly onClose: () => void;
}

/** Asks, and then forgets a chat wherever it is. */
export function ForgetDialog({ chat, onClose }: ForgetDialogProps) {
  const forgetting = useChatChange(
    () => request<ForgetReceipt>(chatPath(chat.chat_id), { method: "DELETE" }),
    (receipt) => {
      onClose();
      showReceipt({ name: chatName(chat), receipt });
    },
  );
  return (
    <Dialog
      title={`Forget “${chatName(chat)}”?`}
      onClose={onClose}
      actions={
        <>
          <Button kind="quiet" onClick={onClose}>
            Keep it
          </Button>
          <Button
            kind="danger"
            isBusy={forgetting.isPending}
            onClick={() => forgetting.mutate(undefined)}
          >
            Forget for good
          </Button>
        </>
      }
    >
      <p>
        Everything that was said in this chat is removed from every place where the companion keeps
        it. This cannot be undone. Export it first if you may want it again.
      </p>
      {forgetting.isError ? <ErrorNote error={forgetting.error} /> : null}
    </Dialog>
  );
}
