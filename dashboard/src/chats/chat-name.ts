import { defaultChat } from "../routes.ts";

/** What a person calls a chat: its title, else what its id says. */
export function chatName(chat: { readonly chat_id: string; readonly title: string }): string {
  const title = chat.title.trim();
  if (title !== "") return title;
  return chat.chat_id === defaultChat ? "Talk" : chat.chat_id;
}
