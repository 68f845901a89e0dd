import "./talk.css";
import { type ReactNode, useCallback, useEffect, useMemo, useState } from "react";
import { flushSync } from "react-dom";
import { useLocation } from "wouter";
import type { Chat, Message } from "../../api/openapi-types.ts";
import { chatAddress } from "../../shell/routes.ts";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Empty, Loading } from "../../ui/page.tsx";
import { isOwnModel, keepForNewChats } from "../models/choice.ts";
import type { Model } from "../models/model-names.ts";
import { NewChat } from "../models/set-up.tsx";
import { useChat } from "../use-chat.ts";
import { Announcer, useAnswer } from "./announcer.tsx";
import { Beginning, type BranchesByMessage, useBranches } from "./branches.tsx";
import { Composer, type ComposerFocus, useComposerFocus } from "./composer.tsx";
import { branchFrom, editAndFork } from "./edit-and-fork.ts";
import type { Feed } from "./feed.ts";
import { type FeedState, isOnItsWay, isShown } from "./feed-state.ts";
import { feedOf, useFeedState } from "./feeds.ts";
import { FootNote } from "./foot-note.tsx";
import { FoundBar, FoundNote } from "./found-bar.tsx";
import { type MessageActions, MessageRow } from "./message-row.tsx";
import { LiveRow, WaitingRow } from "./pending-rows.tsx";
import { RemoveDialog } from "./remove-dialog.tsx";
import { type Row, useRows } from "./rows.ts";
import { ToolResult } from "./steps.tsx";
import { TalkHead } from "./talk-head.tsx";
import { Transcript } from "./transcript.tsx";
import { useFound } from "./use-found.ts";

/** What other features show in a chat. */
export interface TalkParts {
  /** Before the chat's name. */
  readonly lead: ReactNode;
  /** Beside the chat's name. `chatId`: absent as long as the chat has no message. */
  readonly head: (chatId: string | undefined) => ReactNode;
  /** Among the actions of a reply. */
  readonly replyActions: (chatId: string, reply: Message) => ReactNode;
  /** Above the field for a message. */
  readonly foot: (chatId: string) => ReactNode;
}

interface TalkViewProps {
  readonly chatId: string;
  /** The same for every render. */
  readonly parts: TalkParts;
}

/** One chat: what was said, and where to go on. */
export function TalkView({ chatId, parts }: TalkViewProps) {
  const feed = useMemo(() => feedOf(chatId), [chatId]);
  const state = useFeedState(feed);
  const rows = useRows(state);
  const chat = useChat(chatId);
  const branches = useBranches(chat.data);
  const answer = useAnswer(state);
  const focus = useComposerFocus();
  const [sent, setSent] = useState(0);
  // Shows what is typed at once, also before this follows the feed: a first letter would be lost.
  const [, showTyped] = useState("");
  const [removing, setRemoving] = useState<Message>();
  const actions = useActions(feed, setRemoving, focus, parts, branches);
  const canStop = state.live !== undefined && state.live.isBroken !== true;
  const stop = canStop ? () => feed.stop() : undefined;
  const found = useFound(feed);
  const isSeeking = found.outcome === "seeking";
  useStopKey(stop);

  const isOffered = isIdle(state, chat.data);
  function send(words: string): void {
    setSent(sent + 1);
    void feed.send(words, feed.state.files);
    feed.keep({ files: [] });
  }
  const choose = useModelChoice(feed, state.model, chat.data, focus);
  function removed(): void {
    flushSync(() => setRemoving(undefined)); // its dialog holds the focus
    focus.compose();
  }
  return (
    <div className="talk">
      <TalkHead
        chatId={chatId}
        chat={chat.data}
        lead={parts.lead}
        model={state.model}
        choose={choose}
        actions={parts.head(chat.data == null ? undefined : chatId)}
      />
      {found.wanted === undefined || found.query === "" ? null : (
        <FoundBar chatId={chatId} query={found.query} at={found.wanted} leave={found.leave} />
      )}
      <Body
        state={state}
        feed={feed}
        isSeeking={isSeeking}
        hasRows={rows.length > 0}
        isNew={chat.data == null}
        choose={choose}
      >
        <Transcript
          key={found.id}
          found={found.id}
          rows={rows}
          state={state}
          loadOlder={() => void feed.loadOlder()}
          render={(row) => (
            <TalkRow row={row} state={state} feed={feed} actions={actions} focus={focus} />
          )}
          beginning={<Beginning origin={chat.data?.forked_from} branches={branches.get("")} />}
          toEnd={sent}
        />
      </Body>
      <div className="talk-foot">
        {parts.foot(chatId)}
        <FoundNote found={found} leaving={focus.leaving} />
        <FootNote
          feed={feed}
          trouble={state.trouble}
          notices={state.notices}
          unanswered={isOffered ? (chat.data?.unanswered_ids.length ?? 0) : 0}
          leaving={focus.leaving}
        />
        <Composer
          send={send}
          stop={stop}
          answer={answer}
          focus={focus}
          takesFocus={!isSeeking && found.id === undefined}
          text={state.draft}
          files={state.files}
          setFiles={(files) => feed.keep({ files })}
          setText={(text) => {
            feed.keep({ draft: text });
            showTyped(text);
          }}
        />
      </div>
      <Announcer answer={answer} />
      {removing === undefined ? null : (
        <RemoveDialog
          chatId={chatId}
          message={removing}
          onClose={() => setRemoving(undefined)}
          onRemoved={removed}
        />
      )}
    </div>
  );
}

interface TalkRowProps {
  readonly row: Row;
  readonly state: FeedState;
  readonly feed: Feed;
  readonly actions: MessageActions;
  readonly focus: ComposerFocus;
}

function TalkRow({ row, state, feed, actions, focus }: TalkRowProps) {
  const { live, messages } = state;
  switch (row.kind) {
    case "day":
      return <p className="day">{row.label}</p>;
    case "result":
      return <ToolResult message={row.message} />;
    case "live":
      return <LiveRow live={row.live} stop={() => feed.stop()} />;
    case "message":
      return (
        <MessageRow
          message={row.message}
          calls={row.calls}
          isRunning={live !== undefined && live.turnId === row.message.turn}
          isNewest={live === undefined && row.message.id === messages.findLast(isShown)?.id}
          actions={actions}
        />
      );
    case "waiting":
      return (
        <WaitingRow
          waiting={row.waiting}
          resend={() => {
            void feed.resend(row.key);
            focus.compose(); // what had the focus is gone
          }}
          toDraft={() => {
            feed.toDraft(row.key);
            focus.field.current?.focus(); // its words are there now, on a phone too
          }}
        />
      );
  }
}

function Body({
  state,
  feed,
  hasRows,
  isNew,
  isSeeking,
  choose,
  children,
}: {
  readonly state: FeedState;
  readonly feed: Feed;
  readonly hasRows: boolean;
  /** A chat that was cleared is still there. */
  readonly isNew: boolean;
  /** The transcript is shown once it is known where it is to be opened. */
  readonly isSeeking: boolean;
  readonly choose: (model: Model) => void;
  readonly children: ReactNode;
}) {
  if (hasRows && !isSeeking) return children;
  const isReady = state.status === "ready" && !isSeeking;
  return (
    <section
      className="talk-blank"
      aria-label="Conversation"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
      tabIndex={0}
    >
      {state.status === "loading" ? <Loading label="Loading the conversation" /> : null}
      {state.status === "ready" && isSeeking ? (
        <Loading label="Loading the message you searched for" />
      ) : null}
      {state.status === "failed" ? (
        <ErrorNote error={state.error} retry={() => void feed.load()} />
      ) : null}
      {isReady && isNew ? <NewChat chosen={state.model} choose={choose} /> : null}
      {isReady && !isNew ? (
        <Empty title="This chat was cleared">
          Earlier messages are not shown, and no model receives them. Send a message to start over.
        </Empty>
      ) : null}
    </section>
  );
}

function useActions(
  feed: Feed,
  remove: (message: Message) => void,
  { compose }: ComposerFocus,
  parts: TalkParts,
  branches: BranchesByMessage,
): MessageActions {
  const [, navigate] = useLocation();
  const edit = useCallback(
    async (message: Message, content: string) => {
      try {
        const chatId = await editAndFork(feed, message, content);
        feed.edit(message.id, undefined);
        navigate(chatAddress(chatId));
      } catch (error) {
        feed.fail(error);
      }
    },
    [feed, navigate],
  );
  const branch = useCallback(
    async (message: Message) => {
      try {
        navigate(chatAddress(await branchFrom(feed, message)));
      } catch (error) {
        feed.fail(error);
      }
    },
    [feed, navigate],
  );
  const regenerate = useCallback(() => {
    void feed.regenerate();
    compose();
  }, [feed, compose]);
  return useMemo(() => {
    const keepEdit = feed.edit.bind(feed);
    const replyActions = (reply: Message) => parts.replyActions(feed.chatId, reply);
    const choose = (answerId: string) => void feed.choose(answerId);
    const own = { edit, edits: feed.edits, keepEdit, remove, regenerate, replyActions };
    const more = { choose, branches, branch: (message: Message) => void branch(message) };
    return { ...own, ...more, chatId: feed.chatId };
  }, [edit, remove, regenerate, branch, branches, feed, parts]);
}

/** What was chosen is the chat's own once a turn has run on it. @returns what chooses another model. */
function useModelChoice(
  feed: Feed,
  model: Model | undefined,
  chat: Chat | null | undefined,
  { compose }: ComposerFocus,
): (model: Model) => void {
  const isOwn = isOwnModel(chat, model);
  useEffect(() => {
    if (isOwn) feed.keep({ model: undefined });
  }, [feed, isOwn]);
  return (next) => {
    keepForNewChats(next);
    feed.keep({ model: isOwnModel(chat, next) ? undefined : next });
    compose();
  };
}

/** Whether nothing is being answered, or about to be. */
function isIdle({ waiting, live }: FeedState, chat: Chat | null | undefined): boolean {
  return chat?.running === false && live === undefined && !waiting.some(isOnItsWay);
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
