import "../chats.css";
import { useEffect, useRef, useState } from "react";
import { useLocation } from "wouter";
import { useHistoryState } from "wouter/use-browser-location";
import { chatAddress } from "../../shell/routes.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Icon } from "../../ui/icon.tsx";
import { MoreButton } from "../../ui/more-button.tsx";
import { Empty, Loading, Page } from "../../ui/page.tsx";
import { unsaidChatId } from "../talk/edit-and-fork.ts";
import { addressOf, ChatItem } from "./chat-item.tsx";
import { moveFocus, SearchField } from "./search-field.tsx";
import { useChatSearch } from "./use-chat-search.ts";
import { type ChatFilter, useChats, useFoundBy } from "./use-chats.ts";

/** All chats: to find, open, rename, copy and forget them. */
export function ChatsView() {
  const { typed, setTyped, filter, setFilter, isCurrent } = useChatSearch();
  const [opensFirst, setOpensFirst] = useState(false);
  const { unanswered, damaged } = filter;
  const [, navigate] = useLocation();
  const state: unknown = useHistoryState();
  const isAsked = typeof state === "object" && state !== null && "search" in state;
  return (
    <Page
      title="All chats"
      actions={
        <Button onClick={() => navigate(chatAddress(unsaidChatId()))}>
          <Icon name="edit" size={18} />
          New chat
        </Button>
      }
    >
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the arrows go from one thing in it to another */}
      <div onKeyDown={moveFocus}>
        <search className="chat-search">
          <SearchField
            typed={typed}
            placeholder="Search messages, titles and ids"
            isAsked={isAsked}
            setTyped={(text) => {
              setOpensFirst(false);
              setTyped(text);
            }}
            openFirst={() => setOpensFirst(typed.trim() !== "")}
          />
          <Toggle
            label="Unanswered"
            isOn={unanswered}
            set={(isOn) => setFilter("unanswered", isOn)}
          />
          <Toggle label="Damaged" isOn={damaged} set={(isOn) => setFilter("damaged", isOn)} />
        </search>
        <ChatList filter={filter} opensFirst={opensFirst && isCurrent} />
      </div>
    </Page>
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

interface ListProps {
  readonly filter: ChatFilter;
  readonly opensFirst: boolean;
}

function ChatList({ filter, opensFirst }: ListProps) {
  const chats = useChats(filter);
  const words = useFoundBy(filter.query, chats.isPlaceholderData);
  const [, navigate] = useLocation();
  const list = useRef<HTMLUListElement>(null);
  const rows = chats.data?.pages.flatMap((page) => page.chats) ?? [];
  const first = opensFirst && !chats.isPlaceholderData ? rows[0] : undefined;
  const address = first && addressOf(first, filter.query);
  useEffect(() => {
    if (address !== undefined) navigate(address);
  }, [address, navigate]);
  if (chats.isPending) return <Loading label="Loading the chats" />;
  if (chats.isError && rows.length === 0) {
    return <ErrorNote error={chats.error} retry={() => void chats.refetch()} />;
  }
  if (rows.length === 0) return chats.isPlaceholderData ? null : <NoChats filter={filter} />;
  return (
    <>
      <ErrorNote error={chats.error} retry={() => void chats.refetch()} />
      <ul ref={list} className="chat-list" aria-busy={chats.isPlaceholderData}>
        {rows.map((row) => (
          <ChatItem key={row.chat_id} row={row} query={words} />
        ))}
      </ul>
      <MoreButton list={chats} rows={list}>
        Show more
      </MoreButton>
    </>
  );
}

function NoChats({ filter }: { readonly filter: ChatFilter }) {
  if (filter.query !== "") {
    return (
      <Empty title="No results">
        No message, title or id has all of these words. Case and accents are ignored, and the last
        word may be incomplete.
      </Empty>
    );
  }
  if (filter.unanswered) return <Empty title="No unanswered messages" />;
  if (filter.damaged) return <Empty title="No damaged chats" />;
  return <Empty title="No chats yet">Your first message in Talk starts one.</Empty>;
}
