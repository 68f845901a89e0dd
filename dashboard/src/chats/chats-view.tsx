import "./chats.css";
import { useEffect, useRef, useState } from "react";
import { useLocation } from "wouter";
import { useHistoryState } from "wouter/use-browser-location";
import { chatAddress } from "../routes.ts";
import { newChatId } from "../talk/edit-and-fork.ts";
import { Button } from "../ui/button.tsx";
import { Empty } from "../ui/empty.tsx";
import { ErrorNote } from "../ui/error-note.tsx";
import { Icon } from "../ui/icon.tsx";
import { Loading } from "../ui/loading.tsx";
import { Page } from "../ui/page.tsx";
import { ChatItem } from "./chat-item.tsx";
import { type ChatFilter, useChats } from "./use-chats.ts";

/** How long typing rests before the chats are searched. */
const restMs = 200;
const maxQuery = 1_000;

/** Every chat there is: found, opened, renamed, copied, forgotten. */
export function ChatsView() {
  const [typed, setTyped] = useState("");
  const [unanswered, setUnanswered] = useState(false);
  const [damaged, setDamaged] = useState(false);
  const query = useRested(typed.trim());
  const [, navigate] = useLocation();
  const filter: ChatFilter = { query, unanswered, damaged };
  return (
    <Page
      title="Chats"
      actions={
        <Button onClick={() => navigate(chatAddress(newChatId()))}>
          <Icon name="edit" size={18} />
          New chat
        </Button>
      }
    >
      <search className="chat-search">
        <SearchField typed={typed} setTyped={setTyped} />
        <Toggle label="Unanswered" isOn={unanswered} set={setUnanswered} />
        <Toggle label="Damaged" isOn={damaged} set={setDamaged} />
      </search>
      <ChatList filter={filter} />
    </Page>
  );
}

function SearchField({
  typed,
  setTyped,
}: {
  readonly typed: string;
  readonly setTyped: (text: string) => void;
}) {
  const field = useRef<HTMLInputElement>(null);
  const state: unknown = useHistoryState();
  const isAsked = typeof state === "object" && state !== null && "search" in state;
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
        placeholder="Search what was said"
        maxLength={maxQuery}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
      />
    </div>
  );
}

interface ToggleProps {
  readonly label: string;
  readonly isOn: boolean;
  readonly set: (isOn: boolean) => void;
}

function Toggle({ label, isOn, set }: ToggleProps) {
  return (
    <Button className="toggle" aria-pressed={isOn} onClick={() => set(!isOn)}>
      {label}
    </Button>
  );
}

function ChatList({ filter }: { readonly filter: ChatFilter }) {
  const chats = useChats(filter);
  const rows = chats.data?.pages.flatMap((page) => page.chats) ?? [];
  if (chats.isPending) return <Loading label="Loading the chats" />;
  if (chats.isError && rows.length === 0) {
    return <ErrorNote error={chats.error} retry={() => void chats.refetch()} />;
  }
  if (rows.length === 0) return <NoChats filter={filter} />;
  return (
    <>
      {chats.isError ? <ErrorNote error={chats.error} retry={() => void chats.refetch()} /> : null}
      <ul className="chat-list" aria-busy={chats.isPlaceholderData}>
        {rows.map((row) => (
          <ChatItem key={row.chat_id} row={row} query={filter.query} />
        ))}
      </ul>
      {chats.hasNextPage ? (
        <div className="more">
          <Button disabled={chats.isFetchingNextPage} onClick={() => void chats.fetchNextPage()}>
            Show more
          </Button>
        </div>
      ) : null}
    </>
  );
}

function NoChats({ filter }: { readonly filter: ChatFilter }) {
  if (filter.query !== "") {
    return (
      <Empty title="Nothing was found">
        No chat has a message with all of these words. Case and accents do not matter.
      </Empty>
    );
  }
  if (filter.unanswered) return <Empty title="Every message is answered" />;
  if (filter.damaged) return <Empty title="No chat is damaged" />;
  return <Empty title="There is no chat yet">What you say under Talk becomes the first.</Empty>;
}

/** A value once it has not changed for a moment. */
function useRested(value: string): string {
  const [rested, setRested] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), restMs);
    return () => clearTimeout(timer);
  }, [value]);
  return rested;
}
