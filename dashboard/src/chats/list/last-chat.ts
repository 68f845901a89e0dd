// The chat that was open last in this browser: Talk leads back to it.
import { onServerEvent } from "../../api/events.ts";
import { Store, useStore } from "../../api/store.ts";
import { chatAddress, defaultChat } from "../../shell/routes.ts";
import { markRead } from "./activity.ts";

const storageKey = "throughline-chat";
const last = new Store(localStorage.getItem(storageKey) ?? defaultChat);

/** Where Talk leads to. */
export function useTalkAddress(): string {
  return chatAddress(useStore(last));
}

/** A chat was opened. */
export function chatOpened(chatId: string): void {
  markRead(chatId);
  last.set(chatId);
  if (chatId === defaultChat) localStorage.removeItem(storageKey);
  else localStorage.setItem(storageKey, chatId);
}

onServerEvent("session", ({ chat_id: chatId, change }) => {
  if (change === "forgotten" && chatId === last.get()) chatOpened(defaultChat);
});
