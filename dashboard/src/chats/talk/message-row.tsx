import { memo, type ReactNode, useState } from "react";
import type { AnswerStats, Message } from "../../api/openapi-types.ts";
import { Action, CopyAction } from "../../ui/action.tsx";
import { Button } from "../../ui/button.tsx";
import { cost, counted, fullTime, howToPrice, noPrice, seconds } from "../../ui/in-words.ts";
import { modelName } from "../models/model-names.ts";
import { Branches, type BranchesByMessage } from "./branches.tsx";
import { EditBox } from "./edit-box.tsx";
import { MessageFiles } from "./files/message-files.tsx";
import { Markdown } from "./markdown.tsx";
import type { Call } from "./rows.ts";
import { Reasoning, ToolCall } from "./steps.tsx";
import { Variants } from "./variants.tsx";

export interface MessageActions {
  readonly chatId: string;
  /** Sends an edited message in a new chat, and opens that. */
  readonly edit: (message: Message, content: string) => Promise<void>;
  /** Unsent edits by the ids of the messages: a row out of sight has no state. */
  readonly edits: ReadonlyMap<string, string>;
  /** Keeps an edit; `undefined` removes it. */
  readonly keepEdit: (messageId: string, content: string | undefined) => void;
  /** Regenerates the newest answer. */
  readonly regenerate: () => void;
  /** Shows another answer to the newest message. */
  readonly choose: (answerId: string) => void;
  /** Copies the chat up to a message into a new chat, and opens that. */
  readonly branch: (message: Message) => void;
  /** The chats that were branched from this one. */
  readonly branches: BranchesByMessage;
  readonly remove: (message: Message) => void;
  /** What other features can do with a reply. */
  readonly replyActions: (reply: Message) => ReactNode;
}

interface MessageRowProps {
  readonly message: Message;
  readonly calls: readonly Call[];
  /** Its turn runs. */
  readonly isRunning: boolean;
  readonly isNewest: boolean;
  readonly actions: MessageActions;
}

const cuts = {
  stopped: "Stopped",
  error: "Cut short by an error",
  crash: "Cut short by a crash",
  length: "Cut short: the model reached its limit",
  content_filter: "Cut short by a content filter",
} as const;

/** One message with its author and actions. */
export const MessageRow = memo(function MessageRow(props: MessageRowProps) {
  const { message, calls, isRunning, isNewest, actions } = props;
  const { edits, keepEdit } = actions;
  const [editing, setEditing] = useState(edits.has(message.id) ? "kept" : "no");
  const isUser = message.role === "user";
  if (message.redacted === true) return <Redacted />;
  if (isUser && message.synthetic !== undefined) return <Synthetic kind={message.synthetic} />;
  function edit(): void {
    keepEdit(message.id, message.content);
    setEditing("opened");
  }
  if (editing === "opened" || editing === "kept") {
    return (
      <EditBox
        content={edits.get(message.id) ?? message.content}
        isOpened={editing === "opened"}
        onChange={(content) => keepEdit(message.id, content)}
        send={(content) => actions.edit(message, content)}
        cancel={() => {
          keepEdit(message.id, undefined);
          setEditing("left");
        }}
      />
    );
  }
  return (
    <article className={`message message-${message.role}`}>
      {isUser && message.name !== undefined ? (
        <h2 className="fine byline" dir="auto">
          {message.name}
        </h2>
      ) : (
        <h2 className="visually-hidden">{isUser ? "You" : "Companion"}</h2>
      )}
      <MessageFiles chatId={actions.chatId} message={message} />
      {isUser ? (
        message.content === "" ? null : (
          <p className="bubble" dir="auto">
            {message.content}
          </p>
        )
      ) : (
        <Answer message={message} calls={calls} isRunning={isRunning} />
      )}
      {calls.length > 0 && message.content === "" ? null : (
        <footer className="row fine message-foot">
          {message.partial === true ? <Cut reason={message.partial_reason ?? "error"} /> : null}
          {isNewest && isBroken(message) ? (
            <Button kind="quiet" className="small" onClick={actions.regenerate}>
              Try again
            </Button>
          ) : null}
          {isNewest ? <Variants message={message} choose={actions.choose} /> : null}
          <Byline message={message} />
          {message.stats === undefined ? null : <Stats stats={message.stats} />}
          <span className="message-actions">
            {message.content === "" ? null : <CopyAction text={message.content} />}
            {isUser && message.content !== "" ? (
              <Action
                icon="edit"
                label="Edit in a new chat"
                run={edit}
                isFocused={editing === "left"}
              />
            ) : null}
            {isNewest && !isUser && calls.length === 0 ? (
              <Action icon="retry" label="Regenerate" run={actions.regenerate} />
            ) : null}
            <Action icon="fork" label="Branch from here" run={() => actions.branch(message)} />
            {message.role === "assistant" && message.content !== ""
              ? actions.replyActions(message)
              : null}
            <Action icon="hide" label="Erase" run={() => actions.remove(message)} />
          </span>
          <Branches branches={actions.branches.get(message.id)} />
        </footer>
      )}
    </article>
  );
});

/** Reasoning, text and tool calls, in the order in which they are stored. */
function Answer({
  message,
  calls,
  isRunning,
}: Pick<MessageRowProps, "message" | "calls" | "isRunning">) {
  const { content, reasoning_content: reasoning = "" } = message;
  return (
    <>
      {reasoning === "" ? null : <Reasoning text={reasoning} />}
      {content === "" ? null : <Markdown text={content} />}
      {calls.map((call, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they never change their places
        <ToolCall key={index} call={call} isRunning={isRunning} />
      ))}
    </>
  );
}

/** Whether it was cut, and not by the person. */
function isBroken({ partial, partial_reason: reason }: Message): boolean {
  return partial === true && reason !== "stopped";
}

function Cut({ reason }: { readonly reason: keyof typeof cuts }) {
  const kind = reason === "stopped" ? "" : "tag-danger";
  return <span className={`tag ${kind}`}>{cuts[reason]}</span>;
}

function Byline({ message }: { readonly message: Message }) {
  const { timestamp } = message;
  const by = modelName(message);
  const time = timeOf(timestamp);
  return (
    <span className="fine byline">
      {by === "" ? null : <span className="by">{by}</span>}
      {time === "" ? null : (
        <time dateTime={timestamp} title={fullTime(timestamp)}>
          {time}
        </time>
      )}
    </span>
  );
}

function Redacted() {
  return (
    <article className="message">
      <p className="redacted">A message was removed.</p>
    </article>
  );
}

const happenings: Readonly<Record<string, string>> = { pat_hint: "You scratched its head." };

/** A message that no person wrote, such as a pat. */
function Synthetic({ kind }: { readonly kind: string }) {
  return <p className="note">{happenings[kind] ?? "The companion was notified of something."}</p>;
}

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });

function timeOf(timestamp: string): string {
  const at = new Date(timestamp);
  return Number.isNaN(at.getTime()) ? "" : clock.format(at);
}

/** How long an answer took; opened, its tokens and cost too. */
function Stats({ stats }: { readonly stats: AnswerStats }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details className="stats" onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>
        <span className="visually-hidden">Details: answered in </span>
        {seconds(stats.latency_ms)}
      </summary>
      {isOpen ? <StatsBody stats={stats} /> : null}
    </details>
  );
}

function StatsBody({ stats }: { readonly stats: AnswerStats }) {
  const { first_word_ms: firstMs, latency_ms: wholeMs, cost_usd: usd } = stats;
  return (
    <p>
      {tokens(stats.input_tokens)} in, {tokens(stats.output_tokens)} out.{" "}
      {firstMs === null ? "" : `First word after ${seconds(firstMs)}. `}
      Finished after {seconds(wholeMs)}.{" "}
      {usd === null ? `Cost: ${noPrice}. ${howToPrice}` : `Cost: ${cost(usd)}.`}
    </p>
  );
}

function tokens(count: number | null): string {
  return count === null ? "unknown tokens" : counted(count, "token");
}
