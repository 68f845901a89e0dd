import type { ReactNode } from "react";
import type { Chat } from "../../api/openapi-types.ts";
import { defaultChat } from "../../shell/routes.ts";
import { useTitle } from "../../ui/page.tsx";
import { chatName, untitledId } from "../chat-link.tsx";
import { ChatMenu } from "../chat-menu.tsx";
import { modelName } from "./rows.ts";

interface TalkHeadProps {
  readonly chatId: string;
  /** `null`: nothing was said in it yet. */
  readonly chat: Chat | null | undefined;
  /** Stands before its name. */
  readonly lead: ReactNode;
  /** What other features can do here. */
  readonly actions: ReactNode;
}

/** Which chat this is, what it runs on, and what can be done with it. */
export function TalkHead({ chatId, chat, lead, actions }: TalkHeadProps) {
  const name = nameOf(chatId, chat);
  useTitle(name);
  return (
    <header className="talk-head">
      {lead}
      <div className="talk-head-name">
        <h1 title={chat == null ? undefined : untitledId(chat)}>{name}</h1>
        {chat == null ? null : (
          <p className="hint">
            <span className="talk-model">{modelName(chat)}</span>
            {chat.damaged ? <span className="tag tag-danger">damaged</span> : null}
          </p>
        )}
      </div>
      <div className="talk-head-acts">
        {actions}
        {chat == null ? null : <ChatMenu chat={chat} />}
      </div>
    </header>
  );
}

function nameOf(chatId: string, chat: TalkHeadProps["chat"]): string {
  if (chat == null && chatId !== defaultChat) return chat === null ? "New chat" : "Chat";
  return chatName({ chat_id: chatId, title: chat?.title ?? "" });
}
