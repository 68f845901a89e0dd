import { type KeyboardEvent, useEffect, useRef } from "react";
import { Icon } from "../../ui/icon.tsx";

const maxQuery = 1_000;

interface SearchFieldProps {
  readonly typed: string;
  readonly setTyped: (text: string) => void;
  readonly placeholder: string;
  /** It takes the focus now. */
  readonly isAsked: boolean;
  /** Enter opens the first chat that is found, once it is. */
  readonly openFirst: () => void;
}

/** Where chats are searched. */
export function SearchField(props: SearchFieldProps) {
  const { typed, setTyped, placeholder, isAsked, openFirst } = props;
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (isAsked) field.current?.focus();
  }, [isAsked]);
  return (
    <div className="search-field">
      <Icon name="search" size={18} />
      <label className="visually-hidden" htmlFor="chat-search">
        Search all chats
      </label>
      <input
        ref={field}
        id="chat-search"
        className="field"
        type="search"
        dir="auto"
        placeholder={placeholder}
        title="Ctrl+K or ⌘K"
        maxLength={maxQuery}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") openFirst();
          if (event.key !== "Escape" || typed === "") return;
          event.preventDefault(); // it stops no answer, and closes no drawer
          setTyped("");
        }}
      />
    </div>
  );
}

/**
 * Moves the focus with the arrows: from the field of the search into the list of chats, from chat to
 * chat, and back from the first one. Enter opens a chat by itself: they are links.
 */
export function moveFocus(event: KeyboardEvent<HTMLElement>): void {
  const { key, target, currentTarget } = event;
  if ((key !== "ArrowDown" && key !== "ArrowUp") || !(target instanceof HTMLElement)) return;
  const field = currentTarget.querySelector<HTMLElement>("#chat-search");
  const links = [...currentTarget.querySelectorAll<HTMLElement>(".chat-item-link, .beside-link")];
  const places = field === null ? links : [field, ...links];
  const from = places.indexOf(target);
  if (from === -1) return;
  const next = places[from + (key === "ArrowDown" ? 1 : -1)];
  // At either end the arrow has nowhere to go, and does not scroll away.
  if (next !== undefined || target !== field) event.preventDefault();
  next?.focus();
}
