import "./talk.css";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useCallback, useEffect, useMemo, useState } from "react";
import { useLocation } from "wouter";
import { chatPath, isMissing, request } from "../api/client.ts";
import type { Chat, Message } from "../api/types.ts";
import { chatAddress } from "../routes.ts";
import { Button } from "../ui/button.tsx";
import { Empty } from "../ui/empty.tsx";
import { ErrorNote } from "../ui/error-note.tsx";
import { Loading } from "../ui/loading.tsx";
import { Announcer } from "./announcer.tsx";
import { Composer } from "./composer.tsx";
import { editAndFork } from "./edit-and-fork.ts";
import type { Feed } from "./feed.ts";
import { type FeedState, isShown } from "./feed-state.ts";
import { feedOf, useFeedState } from "./feeds.ts";
import { type MessageActions, MessageRow } from "./message-row.tsx";
import { DayRow, LiveRow, NoteRow, WaitingRow } from "./passing-rows.tsx";
import { useReactionActions } from "./reactions.tsx";
import { RemoveDialog } from "./remove-dialog.tsx";
import { type Row, useRows } from "./rows.ts";
import { TalkHead } from "./talk-head.tsx";
import { Transcript } from "./transcript.tsx";
import { UnansweredNote } from "./unanswered-note.tsx";
import { useAnswer } from "./use-answer.ts";

/** One chat: what was said, and where to go on. */
export function TalkView({ chatId }: { readonly chatId: string }) {
  const feed = useMemo(() => feedOf(chatId), [chatId]);
  const state = useFeedState(feed);
  const rows = useRows(state);
  const chat = useChat(chatId);
  const answer = useAnswer(state);
  const [sent, setSent] = useState(0);
  const [text, setText] = useDraft(feed);
  const [removing, setRemoving] = useState<Message>();
  const reactions = useReactionActions(chatId);
  const actions = useActions(feed, setRemoving, reactions.actions);
  const stop = state.live === undefined ? undefined : () => feed.stop();
  useEffect(() => feed.shorten(), [feed]);
  useStopKey(stop);

  const newest = state.messages.findLast(isShown)?.id;
  const unanswered = state.live === undefined ? (chat.data?.unanswered_ids.length ?? 0) : 0;
  const isIdle = chat.data?.running === false && state.waiting.length === 0;
  function send(words: string): void {
    setSent(sent + 1);
    void feed.send(words);
  }
  function render(row: Row) {
    switch (row.kind) {
      case "day":
        return <DayRow label={row.label} />;
      case "note":
        return <NoteRow note={row.note} />;
      case "live":
        return <LiveRow live={row.live} />;
      case "message": {
        const isNewest = row.message.id === newest && state.live === undefined;
        return <MessageRow message={row.message} isNewest={isNewest} actions={actions} />;
      }
      case "waiting":
        return (
          <WaitingRow
            waiting={row.waiting}
            resend={() => void feed.resend(row.key)}
            takeBack={() => setText(feed.takeBack(row.key))}
          />
        );
    }
  }

  return (
    <div className="talk">
      <TalkHead chatId={chatId} chat={chat.data} />
      <Body state={state} feed={feed} hasRows={rows.length > 0} isNew={chat.data == null}>
        <Transcript
          rows={rows}
          state={state}
          loadOlder={() => void feed.loadOlder()}
          render={render}
          toEnd={sent}
        />
      </Body>
      <div className="talk-foot">
        {reactions.shown}
        {state.trouble === undefined ? null : <Trouble feed={feed} state={state} />}
        {unanswered > 0 && isIdle ? (
          <UnansweredNote
            count={unanswered}
            answer={() => void feed.answer()}
            leave={() => void feed.dismiss()}
          />
        ) : null}
        <Composer text={text} setText={setText} send={send} stop={stop} answer={answer} />
      </div>
      <Announcer answer={answer} />
      {removing === undefined ? null : (
        <RemoveDialog chatId={chatId} message={removing} onClose={() => setRemoving(undefined)} />
      )}
    </div>
  );
}

function Body({
  state,
  feed,
  hasRows,
  isNew,
  children,
}: {
  readonly state: FeedState;
  readonly feed: Feed;
  readonly hasRows: boolean;
  /** A chat that was cleared is still there. */
  readonly isNew: boolean;
  readonly children: ReactNode;
}) {
  if (hasRows) return children;
  return (
    <div className="talk-blank">
      {state.status === "loading" ? <Loading label="Loading the conversation" /> : null}
      {state.status === "failed" ? (
        <ErrorNote error={state.error} retry={() => void feed.load()} />
      ) : null}
      {state.status === "ready" && isNew ? (
        <Empty title="Nothing was said here yet">
          Say something. Every word is kept on this machine, and is still there after a restart.
        </Empty>
      ) : null}
      {state.status === "ready" && !isNew ? (
        <Empty title="This chat was cleared">
          What was said before is not shown, and no model is told of it. Say something, and it
          begins anew.
        </Empty>
      ) : null}
    </div>
  );
}

function Trouble({ feed, state }: { readonly feed: Feed; readonly state: FeedState }) {
  const { trouble } = state;
  if (trouble === undefined) return null;
  return (
    <div className="trouble">
      <ErrorNote error={trouble.error} retry={trouble.retry} />
      <Button kind="quiet" className="small" onClick={() => feed.calm()}>
        Close
      </Button>
    </div>
  );
}

/** A chat in which nothing was said yet is none: no error. */
function useChat(chatId: string) {
  return useQuery({
    queryKey: ["chat", chatId],
    queryFn: async ({ signal }) => {
      try {
        return await request<Chat>(chatPath(chatId), { signal });
      } catch (error) {
        if (isMissing(error)) return null;
        throw error;
      }
    },
  });
}

function useActions(
  feed: Feed,
  remove: (message: Message) => void,
  reactions: Pick<MessageActions, "like" | "dislike">,
): MessageActions {
  const [, navigate] = useLocation();
  const edit = useCallback(
    async (message: Message, content: string) => {
      try {
        const chatId = await editAndFork(feed, message, content);
        feed.edits.delete(message.id);
        navigate(chatAddress(chatId));
      } catch (error) {
        feed.fail(error);
      }
    },
    [feed, navigate],
  );
  return useMemo(
    () => ({ edit, edits: feed.edits, remove, again: () => void feed.again(), ...reactions }),
    [edit, remove, feed, reactions],
  );
}

/** What is typed stays with its chat while one looks elsewhere. */
function useDraft(feed: Feed): [string, (text: string) => void] {
  const [text, setText] = useState(feed.draft);
  const set = useCallback(
    (value: string) => {
      feed.draft = value;
      setText(value);
    },
    [feed],
  );
  return [text, set];
}

/** Escape stops the answer, unless a dialog or a menu takes it. */
function useStopKey(stop: (() => void) | undefined): void {
  useEffect(() => {
    if (stop === undefined) return;
    function onKey(event: KeyboardEvent): void {
      if (event.key !== "Escape" || event.defaultPrevented) return;
      if (document.querySelector("dialog[open]") === null) stop?.();
    }
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [stop]);
}
