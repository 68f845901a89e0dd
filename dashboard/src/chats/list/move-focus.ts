import type { KeyboardEvent } from "react";

/**
 * Moves the focus with the arrows: from the field of the search into the list of chats, from chat to
 * chat, and back from the first one. Enter opens a chat by itself: they are links.
 */
export function moveFocus(event: KeyboardEvent<HTMLElement>): void {
  const { key, target, currentTarget } = event;
  if ((key !== "ArrowDown" && key !== "ArrowUp") || !(target instanceof HTMLElement)) return;
  const field = currentTarget.querySelector<HTMLElement>("#chat-search");
  const links = [...currentTarget.querySelectorAll<HTMLElement>(".chat-item-link")];
  const places = field === null ? links : [field, ...links];
  const from = places.indexOf(target);
  if (from === -1) return;
  const next = places[from + (key === "ArrowDown" ? 1 : -1)];
  // At either end the arrow has nowhere to go, and does not scroll away.
  if (next !== undefined || target !== field) event.preventDefault();
  next?.focus();
}
