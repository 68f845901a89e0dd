import { Link } from "wouter";
import type { ChatListRow } from "../api/openapi-types.ts";
import { chatAddress, defaultChat } from "../shell/routes.ts";
import { useChat } from "./use-chat.ts";
import "./chats.css";

export type NamedChat = Pick<ChatListRow, "chat_id" | "title">;

/** The name of a chat. One that was cleared has no title, and its id says nothing. */
export function chatName(chat: NamedChat): string {
  const title = chat.title.trim();
  if (title !== "") return title;
  return chat.chat_id === defaultChat ? "Talk" : "Untitled chat";
}

/** The id, as a tooltip that tells chats without a title apart. */
export function untitledId(chat: NamedChat): string | undefined {
  return chat.title.trim() === "" && chat.chat_id !== defaultChat ? chat.chat_id : undefined;
}

interface Props {
  readonly chatId: string;
  /** @default the title from the server, the id until it is loaded */
  readonly title?: string | undefined;
}

/** The way to a chat, by its title. */
export function ChatLink({ chatId, title }: Props) {
  if (title === undefined) return <AskedLink chatId={chatId} />;
  const chat = { chat_id: chatId, title };
  return (
    <Link className="chat-link" to={chatAddress(chatId)} title={untitledId(chat)}>
      {chatName(chat)}
    </Link>
  );
}

function AskedLink({ chatId }: { readonly chatId: string }) {
  const { data } = useChat(chatId);
  return <ChatLink chatId={chatId} title={data?.title ?? chatId} />;
}
