import { useId, useState } from "react";
import { useLocation } from "wouter";
import { chatPath, ProblemError, request } from "../api/client.ts";
import type { Chat, ChatListRow, MessagePage, Session } from "../api/openapi-types.ts";
import { chatAddress } from "../shell/routes.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { ErrorNote } from "../ui/error-note.tsx";
import type { NamedChat } from "./chat-menu.tsx";
import { chatName } from "./chat-name.ts";
import { newChatId } from "./talk/edit-and-fork.ts";
import { useChatChange } from "./use-chat-change.ts";

interface ChatDialogProps {
  readonly chat: NamedChat;
  readonly onClose: () => void;
}

/** As the server keeps it: `titleLength` of src/core/chat/chat-head.ts. */
const maxTitle = 120;

/** Gives a chat a name of the person's own; without one it has its automatic title again. */
export function RenameDialog({ chat, onClose }: ChatDialogProps) {
  const [title, setTitle] = useState(chat.title);
  const id = useId();
  const renaming = useChatChange(
    (name: string) => {
      const body = { title: name };
      return request<Chat>(`${chatPath(chat.chat_id)}/rename`, { method: "POST", body });
    },
    () => onClose(),
  );
  return (
    <Dialog
      title="Rename this chat"
      onClose={onClose}
      actions={
        <>
          <Button kind="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button kind="primary" type="submit" form={id} isBusy={renaming.isPending}>
            Rename
          </Button>
        </>
      }
    >
      <form
        id={id}
        onSubmit={(event) => {
          event.preventDefault();
          renaming.mutate(title.trim());
        }}
      >
        <label className="label" htmlFor={`${id}-title`}>
          Name
        </label>
        <input
          id={`${id}-title`}
          className="field"
          dir="auto"
          maxLength={maxTitle}
          value={title}
          onChange={(event) => setTitle(event.target.value)}
        />
        <p className="hint">Leave it empty to have it named by its first message.</p>
      </form>
      {renaming.isError ? <ErrorNote error={renaming.error} /> : null}
    </Dialog>
  );
}

/** Copies a whole chat into a new one, and opens that. */
export function ForkDialog({ chat, onClose }: ChatDialogProps) {
  const [, navigate] = useLocation();
  const forking = useChatChange(
    async () => {
      const path = chatPath(chat.chat_id);
      const { messages } = await request<MessagePage>(`${path}/messages?limit=50`);
      const last = messages.findLast(({ redacted }) => redacted !== true);
      if (last === undefined) throw nothingToCopy();
      const body = { message_id: last.id, chat_id: newChatId() };
      return request<ChatListRow>(`${path}/fork`, { method: "POST", body });
    },
    (row) => {
      onClose();
      navigate(chatAddress(row.chat_id));
    },
  );
  return (
    <Confirm
      title="Copy into a new chat?"
      doIt="Copy"
      onClose={onClose}
      change={forking}
      words={`A new chat begins with everything that was said in “${chatName(chat)}”. What was hidden is not copied. The two go on apart.`}
    />
  );
}

interface ResetDialogProps extends ChatDialogProps {
  /** With this one. @default the one that the chat runs on */
  readonly provider?: string | undefined;
  /** With every provider. */
  readonly all?: boolean | undefined;
}

/** Begins a chat again with one provider, or a new session with all of them. */
export function ResetDialog({ chat, provider, all = false, onClose }: ResetDialogProps) {
  const resetting = useChatChange(
    () => {
      const body = all ? { all } : provider === undefined ? {} : { provider };
      return request<Session>(`${chatPath(chat.chat_id)}/reset`, { method: "POST", body });
    },
    () => onClose(),
  );
  const who = provider === undefined ? "The provider that this chat runs on" : provider;
  return (
    <Confirm
      title={
        all
          ? "Begin a new session?"
          : provider === undefined
            ? "Begin again?"
            : `Begin again with ${provider}?`
      }
      doIt="Begin"
      onClose={onClose}
      change={resetting}
      words={
        all
          ? `No provider gets what was said before in “${chatName(chat)}”, and all counts begin at zero. What was said stays here and can be read.`
          : `${who} no longer gets what was said before in “${chatName(chat)}”, and its counts begin at zero. Other providers keep their part, and what was said stays here. To begin again with all of them, use “New session…” on the Sessions page.`
      }
    />
  );
}

/** Empties a chat for people and models; its log stays. */
export function ClearDialog({ chat, onClose }: ChatDialogProps) {
  const clearing = useChatChange(
    () => request<Chat>(`${chatPath(chat.chat_id)}/clear`, { method: "POST" }),
    () => onClose(),
  );
  return (
    <Confirm
      title="Clear this chat?"
      doIt="Clear"
      isDanger
      onClose={onClose}
      change={clearing}
      words="What was said is not shown and not sent to a model any more. It stays in the log on the disk until the chat is forgotten."
    />
  );
}

interface ConfirmProps {
  readonly title: string;
  readonly words: string;
  readonly doIt: string;
  readonly isDanger?: boolean;
  readonly onClose: () => void;
  readonly change: {
    readonly mutate: (value: undefined) => void;
    readonly isPending: boolean;
    readonly error: Error | null;
  };
}

function Confirm({ title, words, doIt, isDanger = false, onClose, change }: ConfirmProps) {
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          <Button kind="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button
            kind={isDanger ? "danger" : "primary"}
            isBusy={change.isPending}
            onClick={() => change.mutate(undefined)}
          >
            {doIt}
          </Button>
        </>
      }
    >
      <p>{words}</p>
      {change.error === null ? null : <ErrorNote error={change.error} />}
    </Dialog>
  );
}

function nothingToCopy(): ProblemError {
  const detail = "There is nothing in this chat that could be copied.";
  return new ProblemError({ status: 404, code: "NOTHING_TO_COPY", detail });
}
