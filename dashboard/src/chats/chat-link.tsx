import { Link } from "wouter";
import { chatAddress } from "../shell/routes.ts";
import { chatName, untitledId } from "./chat-name.ts";
import { useChat } from "./use-chat.ts";
import "./chat-link.css";

interface Props {
  readonly chatId: string;
  /** What it is called. @default as the server says, its id until then */
  readonly title?: string;
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
