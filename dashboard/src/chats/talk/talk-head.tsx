import { useEffect } from "react";
import type { Chat } from "../../api/openapi-types.ts";
import { PatButtons } from "../../companion/pat.tsx";
import { defaultChat } from "../../shell/routes.ts";
import { ChatMenu } from "../chat-menu.tsx";
import { chatName, untitledId } from "../chat-name.ts";
import { modelName } from "./model-name.ts";

interface TalkHeadProps {
  readonly chatId: string;
  /** `null`: nothing was said in it yet. */
  readonly chat: Chat | null | undefined;
}

/** Which chat this is, what it runs on, and what can be done with it. */
export function TalkHead({ chatId, chat }: TalkHeadProps) {
  const name = nameOf(chatId, chat);
  useEffect(() => {
    document.title = `${name} · Throughline`;
  }, [name]);
  return (
    <header className="talk-head">
      <div>
        <h1 title={chat == null ? undefined : untitledId(chat)}>{name}</h1>
        {chat == null ? null : (
          <p className="hint">
            <span className="talk-model">{modelName(chat)}</span>
            {chat.damaged ? <span className="tag tag-danger">damaged</span> : null}
          </p>
        )}
      </div>
      <div className="talk-head-acts">
        <PatButtons chatId={chat == null ? undefined : chatId} />
        {chat == null ? null : <ChatMenu chat={chat} />}
      </div>
    </header>
  );
}

function nameOf(chatId: string, chat: TalkHeadProps["chat"]): string {
  if (chat == null && chatId !== defaultChat) return chat === null ? "New chat" : "Chat";
  return chatName({ chat_id: chatId, title: chat?.title ?? "" });
}
