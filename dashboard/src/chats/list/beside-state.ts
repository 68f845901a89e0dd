// Whether the chats are shown beside the talk: in a column where there is room, else in a drawer.
import { useEffect } from "react";
import { useLocation } from "wouter";
import { Store, useStore } from "../../api/store.ts";
import { chatAddress, routeOf } from "../../shell/routes.ts";
import { unsaidChatId } from "../talk/edit-and-fork.ts";

const storageKey = "throughline-chats";

const room = window.matchMedia("(min-width: 900px)");
const hasRoom = new Store(room.matches);
const isColumnShown = new Store(localStorage.getItem(storageKey) !== "hidden");
const isDrawerOpen = new Store(false);
/** The field of the search takes the focus when it is there. */
let isSearchAsked = false;

room.addEventListener("change", () => {
  isDrawerOpen.set(false);
  hasRoom.set(room.matches);
});

interface Beside {
  /** For a column. */
  readonly hasRoom: boolean;
  readonly isShown: boolean;
}

export function useBeside(): Beside {
  const isWide = useStore(hasRoom);
  const column = useStore(isColumnShown);
  const drawer = useStore(isDrawerOpen);
  return { hasRoom: isWide, isShown: isWide ? column : drawer };
}

/** Shows or hides the chats. For the column this browser keeps it. */
export function showChats(isShown: boolean): void {
  if (!hasRoom.get()) {
    isDrawerOpen.set(isShown);
    return;
  }
  isColumnShown.set(isShown);
  if (isShown) localStorage.removeItem(storageKey);
  else localStorage.setItem(storageKey, "hidden");
}

export function closeDrawer(): void {
  isDrawerOpen.set(false);
}

/** Whether the search was asked for; it is asked for once. */
export function takeSearchWish(): boolean {
  const isAsked = isSearchAsked;
  isSearchAsked = false;
  return isAsked;
}

/** Ctrl or Cmd with K searches the chats, with Shift and O it begins one: from anywhere. */
export function useChatKeys(): void {
  const [, navigate] = useLocation();
  useEffect(() => {
    function search(): void {
      const field = document.getElementById("chat-search");
      const { view } = routeOf(window.location.pathname);
      if (field !== null) field.focus();
      else if (view === "talk" || view === "chat") {
        isSearchAsked = true;
        showChats(true);
      } else navigate("/chats", { state: { search: true } });
    }
    function begin(): void {
      closeDrawer();
      navigate(chatAddress(unsaidChatId()));
    }
    function onKey(event: KeyboardEvent): void {
      if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
      const key = event.key.toLowerCase();
      const isSearch = key === "k" && !event.shiftKey;
      const isNew = key === "o" && event.shiftKey;
      if (!isSearch && !isNew) return;
      event.preventDefault();
      if (isSearch) search();
      else begin();
    }
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [navigate]);
}
