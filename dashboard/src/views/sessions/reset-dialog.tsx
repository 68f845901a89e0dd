import { useMutation, useQueryClient } from "@tanstack/react-query";
import { chatPath, request } from "../../api/client.ts";
import type { Session } from "../../api/types.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { chatQuery } from "./use-chat.ts";

export interface Reset {
  readonly chatId: string;
  /** What the person knows the chat as. */
  readonly title: string;
  /** Only this one's part. */
  readonly provider?: string;
}

interface Props {
  readonly reset: Reset;
  readonly onClose: () => void;
}

/** Says what a reset does before it is done. */
export function ResetDialog({ reset, onClose }: Props) {
  const { chatId, title, provider } = reset;
  const client = useQueryClient();
  const act = useMutation({
    mutationFn: () =>
      request<Session>(`${chatPath(chatId)}/reset`, {
        ...{ method: "POST", body: provider === undefined ? {} : { provider } },
      }),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: chatQuery(chatId).queryKey });
      onClose();
    },
  });
  return (
    <Dialog
      title={provider === undefined ? "Reset the session?" : `Reset ${provider}?`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="danger" disabled={act.isPending} onClick={() => act.mutate()}>
            Reset
          </Button>
        </>
      }
    >
      {provider === undefined ? (
        <p>
          A new session begins in “{title}” with every provider, and its counts begin at zero. The
          messages stay where they are.
        </p>
      ) : (
        <p>
          The next message to {provider} in “{title}” begins a new session there, and its counts
          begin at zero. The other providers and the messages stay as they are.
        </p>
      )}
      {act.error === null ? null : <ErrorNote error={act.error} />}
    </Dialog>
  );
}
