import { useCallback, useMemo, useRef, useState } from "react";
import type { Message } from "../api/openapi-types.ts";
import type { Feed } from "../chats/talk/feed.ts";
import type { MessageActions } from "../chats/talk/message-row.tsx";
import { DislikeDialog } from "./dislike-dialog.tsx";
import { useHasMoments } from "./use-moments.ts";
import { type Correction, useReactions } from "./use-reactions.ts";

type ReactionActions = Pick<MessageActions, "like" | "dislike">;

/** How replies are reacted to; no actions and nothing to show where no moments are kept. */
export function useReactionActions(feed: Feed) {
  const hasMoments = useHasMoments();
  const { notice, sending } = useReactions(feed);
  const [disliked, setDisliked] = useState<Message>();
  const drafts = useRef(new Map<string, Correction>());
  const { mutate, reset } = sending;
  const like = useCallback(
    (message: Message) => mutate({ message, sentiment: "positive" }),
    [mutate],
  );
  const dislike = useCallback(
    (message: Message) => {
      reset();
      setDisliked(message);
    },
    [reset],
  );
  const actions = useMemo(
    (): ReactionActions => (hasMoments ? { like, dislike } : {}),
    [hasMoments, like, dislike],
  );
  const close = () => setDisliked(undefined);
  const shown = hasMoments ? (
    <>
      <div className="reaction-note" role="status" aria-live="polite">
        {notice}
      </div>
      {disliked === undefined ? null : (
        <DislikeDialog
          draft={drafts.current.get(disliked.id) ?? { text: "", kind: "replacement" }}
          onDraft={(draft) => drafts.current.set(disliked.id, draft)}
          isSending={sending.isPending}
          error={sending.error}
          send={(correction) => {
            const judgement = { message: disliked, sentiment: "negative" } as const;
            const whole = correction === undefined ? judgement : { ...judgement, correction };
            const onSuccess = () => {
              drafts.current.delete(disliked.id);
              close();
            };
            mutate(whole, { onSuccess });
          }}
          onClose={close}
        />
      )}
    </>
  ) : null;
  return { actions, shown };
}
