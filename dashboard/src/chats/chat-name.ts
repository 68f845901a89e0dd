import { defaultChat } from "../shell/routes.ts";

/** What a person calls a chat; one that was cleared has no title, and its id says nothing. */
export function chatName(chat: { readonly chat_id: string; readonly title: string }): string {
  const title = chat.title.trim();
  if (title !== "") return title;
  return chat.chat_id === defaultChat ? "Talk" : "Untitled chat";
}

/** What tells chats without a title apart, to be shown to who points at one. */
export function untitledId(chat: {
  readonly chat_id: string;
  readonly title: string;
}): string | undefined {
  return chat.title.trim() === "" && chat.chat_id !== defaultChat ? chat.chat_id : undefined;
}
