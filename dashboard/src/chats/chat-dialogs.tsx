// The dialogs that change a whole chat.
import { type ComponentProps, useId, useState } from "react";
import { useLocation } from "wouter";
import { chatPath, ProblemError, request } from "../api/client.ts";
import type { Chat, ChatRow, ForgetReceipt, MessagePage, Reset } from "../api/openapi-types.ts";
import { chatAddress } from "../shell/routes.ts";
import { Confirm } from "../ui/dialog.tsx";
import { chatName, type NamedChat } from "./chat-link.tsx";
import { forgetReceipt } from "./forget-receipt.tsx";
import { providerName } from "./models/model-names.ts";
import { newChatId } from "./talk/edit-and-fork.ts";
import { useChatChange } from "./use-chat.ts";

interface ChatDialogProps {
  readonly chat: NamedChat;
  readonly onClose: () => void;
}

/** The server cuts a longer one. */
const maxTitle = 120;

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
  const rename = () => renaming.mutate(title.trim());
  return (
    <Confirm
      title="Rename this chat"
      confirm="Rename"
      isBusy={renaming.isPending}
      error={renaming.error}
      onConfirm={rename}
      onClose={onClose}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!renaming.isPending) rename();
        }}
      >
        <label className="label" htmlFor={id}>
          Name
        </label>
        <input
          id={id}
          className="field"
          dir="auto"
          maxLength={maxTitle}
          readOnly={renaming.isPending}
          value={title}
          onChange={(event) => setTitle(event.target.value)}
        />
        <p className="hint">Leave it empty to name the chat after its first message.</p>
      </form>
    </Confirm>
  );
}

interface ChangeProps<Result>
  extends Omit<ComponentProps<typeof Confirm>, "isBusy" | "error" | "onConfirm"> {
  readonly change: () => Promise<Result>;
  readonly onDone?: (result: Result) => void;
}

/** Asks before a chat is changed, and closes once it is. */
function ConfirmChange<Result>({ change, onDone, ...question }: ChangeProps<Result>) {
  const changing = useChatChange(change, (result) => {
    question.onClose();
    onDone?.(result);
  });
  return (
    <Confirm
      {...question}
      isBusy={changing.isPending}
      error={changing.error}
      onConfirm={() => changing.mutate(undefined)}
    />
  );
}

/** Copies a whole chat into a new one, and opens that. */
export function ForkDialog({ chat, onClose }: ChatDialogProps) {
  const [, navigate] = useLocation();
  async function fork(): Promise<ChatRow> {
    const path = chatPath(chat.chat_id);
    const { messages } = await request<MessagePage>(`${path}/messages?limit=50`);
    const last = messages.findLast(({ redacted }) => redacted !== true);
    if (last === undefined) throw nothingToCopy();
    const body = { message_id: last.id, chat_id: newChatId() };
    return request<ChatRow>(`${path}/fork`, { method: "POST", body });
  }
  return (
    <ConfirmChange
      title="Copy into a new chat?"
      confirm="Copy"
      change={fork}
      onDone={(row) => navigate(chatAddress(row.chat_id))}
      onClose={onClose}
    >
      <p>
        The new chat starts with all messages of “{chatName(chat)}”, except hidden ones. After that
        the two chats are independent.
      </p>
    </ConfirmChange>
  );
}

interface ResetDialogProps extends ChatDialogProps {
  /** Only the session with this provider. @default the one that the chat runs on */
  readonly provider?: string | undefined;
  /** The sessions with every provider. */
  readonly all?: boolean | undefined;
}

/** Starts a new session with one provider, or with all of them. */
export function ResetDialog({ chat, provider, all, onClose }: ResetDialogProps) {
  const name = chatName(chat);
  const named = provider === undefined ? undefined : providerName(provider);
  const who = named ?? "The provider that this chat runs on";
  const only = named === undefined ? "Reset the session?" : `Reset the session with ${named}?`;
  const body: Reset = { provider, all };
  return (
    <ConfirmChange
      title={all === true ? "Start a new session?" : only}
      confirm={all === true ? "Start" : "Reset"}
      change={() => request(`${chatPath(chat.chat_id)}/reset`, { method: "POST", body })}
      onClose={onClose}
    >
      <p>
        {all === true
          ? `No provider receives the earlier messages of “${name}”, and all counts start at zero. The messages stay here, and you can still read them.`
          : `${who} no longer receives the earlier messages of “${name}”, and its counts start at zero. Sessions with other providers continue, and the messages stay here. To reset all of them, use “New session…” under Status, Sessions.`}
      </p>
    </ConfirmChange>
  );
}

/** Empties a chat for people and models; its log stays. */
export function ClearDialog({ chat, onClose }: ChatDialogProps) {
  return (
    <ConfirmChange
      title="Clear this chat?"
      confirm="Clear"
      isDanger
      change={() => request(`${chatPath(chat.chat_id)}/clear`, { method: "POST" })}
      onClose={onClose}
    >
      <p>
        Its messages are no longer shown or sent to a model. They stay in the log on the disk until
        you forget the chat.
      </p>
    </ConfirmChange>
  );
}

/** Removes a chat from everywhere. */
export function ForgetDialog({ chat, onClose }: ChatDialogProps) {
  const name = chatName(chat);
  return (
    <ConfirmChange
      title={`Forget “${name}”?`}
      confirm="Forget permanently"
      isDanger
      change={() => request<ForgetReceipt>(chatPath(chat.chat_id), { method: "DELETE" })}
      onDone={(receipt) => forgetReceipt.set({ chatId: chat.chat_id, name, receipt })}
      onClose={onClose}
    >
      <p>
        All messages of this chat are removed from every place where the companion keeps them. This
        cannot be undone. Export the chat first if you may need it again.
      </p>
    </ConfirmChange>
  );
}

function nothingToCopy(): ProblemError {
  const detail = "This chat has nothing to copy.";
  return new ProblemError({ status: 404, code: "NOTHING_TO_COPY", detail });
}
