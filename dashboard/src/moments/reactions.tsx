import { useEffect, useRef } from "react";
import { useServerEvent } from "../api/events.ts";
import { useStore } from "../api/store.ts";
import { Action } from "../ui/action.tsx";
import { DislikeDialog } from "./dislike-dialog.tsx";
import {
  ask,
  type Correction,
  type Reply,
  react,
  reactions,
  replyKey,
  takeBack,
} from "./send-reaction.ts";
import { refreshMoments, useHasMoments, useReactions } from "./use-moments.ts";

/** Buttons by which a reply is reacted to, and the reaction taken back; nothing where no moments are kept. */
export function ReactionButtons({ reply }: { readonly reply: Reply }) {
  const given = useReactions(reply.chatId).find(({ message_ids }) => {
    return message_ids.includes(reply.message.id);
  });
  if (!useHasMoments()) return null;
  const isLiked = given?.sentiment === "positive";
  const isDisliked = given?.sentiment === "negative";
  const undo = () => given && takeBack(reply, given.name);
  return (
    <>
      <Action
        icon="like"
        label="Good answer"
        run={() => void (isLiked ? undo() : react(reply, "positive"))}
        isOn={isLiked}
      />
      <Action
        icon="dislike"
        label="Bad answer"
        run={() => void (isDisliked ? undo() : ask(reply))}
        isOn={isDisliked}
      />
    </>
  );
}

/** The outcome of the last reaction in a chat, and the dialog for a bad answer. */
export function ReactionNotes({ chatId }: { readonly chatId: string }) {
  const { notice, asked, isSending, error } = useStore(reactions);
  const drafts = useRef(new Map<string, Correction>());
  useEffect(() => () => ask(undefined), []);
  useServerEvent("feedback", () => void refreshMoments());
  if (!useHasMoments()) return null;
  async function send(reply: Reply, correction: Correction | undefined): Promise<void> {
    if (!(await react(reply, "negative", correction))) return;
    drafts.current.delete(replyKey(reply));
    ask(undefined);
  }
  return (
    <>
      <div className="floating hint reaction-note" role="status" aria-live="polite">
        {notice?.chatId === chatId ? notice.says : ""}
      </div>
      {asked?.chatId === chatId ? (
        <DislikeDialog
          draft={drafts.current.get(replyKey(asked)) ?? { text: "", kind: "replacement" }}
          onDraft={(draft) => drafts.current.set(replyKey(asked), draft)}
          isSending={isSending}
          error={error}
          send={(correction) => void send(asked, correction)}
          onClose={() => ask(undefined)}
        />
      ) : null}
    </>
  );
}
