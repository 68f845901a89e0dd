import type { ReactNode } from "react";
import type { Chat } from "../../api/openapi-types.ts";
import { defaultChat } from "../../shell/routes.ts";
import { useTitle } from "../../ui/page.tsx";
import { chatName, untitledId } from "../chat-link.tsx";
import { ChatMenu } from "../chat-menu.tsx";
import type { Model } from "../models/model-names.ts";
import { ModelPicker } from "../models/model-picker.tsx";

interface TalkHeadProps {
  readonly chatId: string;
  /** `null`: nothing was said in it yet. */
  readonly chat: Chat | null | undefined;
  /** Stands before its name. */
  readonly lead: ReactNode;
  /** What was chosen for the next message. */
  readonly model: Model | undefined;
  readonly choose: (model: Model) => void;
  /** What other features can do here. */
  readonly actions: ReactNode;
}

/** Which chat this is, what it runs on, and what can be done with it. */
export function TalkHead(props: TalkHeadProps) {
  const { chatId, chat, lead, model, choose, actions } = props;
  const name = nameOf(chatId, chat);
  useTitle(name);
  return (
    <header className="talk-head">
      {lead}
      <div className="talk-head-name">
        <h1 title={chat == null ? undefined : untitledId(chat)}>{name}</h1>
        <div className="talk-facts">
          <ModelPicker chat={chat} chosen={model} choose={choose} />
          {chat?.damaged === true ? <span className="tag tag-danger">damaged</span> : null}
        </div>
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
