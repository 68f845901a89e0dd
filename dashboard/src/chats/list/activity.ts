// What happened in chats while this page was open: where an answer runs, and where one was not read yet.
import { chatPath, request } from "../../api/client.ts";
import { onOpen, onServerEvent } from "../../api/events.ts";
import type { Chat } from "../../api/openapi-types.ts";
import { Store, useStore } from "../../api/store.ts";
import { routeOf } from "../../shell/routes.ts";

type Activity = "answering" | "new";

const activity = new Store<ReadonlyMap<string, Activity>>(new Map());

/** By chat; a chat in which nothing happened is not in it. */
export function useActivity(): ReadonlyMap<string, Activity> {
  return useStore(activity);
}

/** The chat was opened: what is in it is read. */
export function markRead(chatId: string): void {
  if (activity.get().get(chatId) === "new") note(chatId, undefined);
}

function note(chatId: string, what: Activity | undefined): void {
  if (activity.get().get(chatId) === what) return;
  const next = new Map(activity.get());
  if (what === undefined) next.delete(chatId);
  else next.set(chatId, what);
  activity.set(next);
}

function isOpen(chatId: string): boolean {
  const route = routeOf(window.location.pathname);
  return (route.view === "talk" || route.view === "chat") && route.chatId === chatId;
}

onServerEvent("turn", ({ chat_id: chatId, state }) => {
  if (state === "running") note(chatId, "answering");
  else note(chatId, state === "answered" && !isOpen(chatId) ? "new" : undefined);
});
onServerEvent("message", (event) => {
  if (event.change !== "stored" || event.message.role !== "assistant") return;
  // In a turn it may be a step before the answer, which the turn's own event follows.
  const isSaidAlone = activity.get().get(event.chat_id) !== "answering";
  if (isSaidAlone && !isOpen(event.chat_id)) note(event.chat_id, "new");
});
onServerEvent("session", ({ chat_id: chatId, change }) => {
  if (change === "forgotten" || change === "cleared") note(chatId, undefined);
});
/** A turn that ended while nothing was heard of it answers no more. */
onOpen(() => {
  for (const [chatId, what] of activity.get()) {
    if (what !== "answering") continue;
    const ended = () => {
      if (activity.get().get(chatId) === "answering") note(chatId, undefined);
    };
    request<Chat>(chatPath(chatId))
      .then(({ running }) => running || ended())
      .catch(ended);
  }
});
