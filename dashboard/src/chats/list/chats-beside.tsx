import "../chats.css";
import "./beside.css";
import { type MouseEvent, useEffect, useId, useState } from "react";
import { Link, useLocation } from "wouter";
import type { ChatListRow } from "../../api/openapi-types.ts";
import { chatAddress } from "../../shell/routes.ts";
import { Button } from "../../ui/button.tsx";
import { Drawer } from "../../ui/dialog.tsx";
import { QueryError } from "../../ui/error-note.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Loading } from "../../ui/page.tsx";
import { useNow } from "../../ui/time.tsx";
import { unsaidChatId } from "../talk/edit-and-fork.ts";
import { BesideRow, FoundRow } from "./beside-rows.tsx";
import { closeDrawer, takeSearchWish, useBeside } from "./beside-state.ts";
import { addressOf } from "./chat-item.tsx";
import { groupsOf } from "./days.ts";
import { moveFocus, SearchField } from "./search-field.tsx";
import { useFoundBy, useNewestChats } from "./use-chats.ts";

/** The chats beside the talk. @param current the chat that is open. */
export function ChatsBeside({ current }: { readonly current: string }) {
  const { hasRoom, isShown } = useBeside();
  // A drawer closes with the view that it belongs to.
  useEffect(() => closeDrawer, []);
  if (!isShown) return null;
  if (hasRoom) {
    return (
      <nav id="chats-beside" className="beside" aria-label="Chats" tabIndex={-1}>
        <Chats current={current} />
      </nav>
    );
  }
  function onUsed({ target }: MouseEvent): void {
    const link = target instanceof Element ? target.closest("a") : null;
    if (link !== null && !link.hasAttribute("download")) closeDrawer();
  }
  return (
    <Drawer label="Chats" onClose={closeDrawer}>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: a key on a link clicks it */}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: what is inside is interactive */}
      <div className="beside" onClick={onUsed}>
        <Chats current={current} close={closeDrawer} />
      </div>
    </Drawer>
  );
}

interface ChatsProps {
  readonly current: string;
  /** Absent in the column. */
  readonly close?: () => void;
}

function Chats({ current, close }: ChatsProps) {
  const [typed, setTyped] = useState("");
  const [opensFirst, setOpensFirst] = useState(false);
  const [isAsked] = useState(takeSearchWish);
  const query = useRested(typed.trim() === "" ? "" : typed.trimStart());
  const chats = useNewestChats(query);
  const words = useFoundBy(query, chats.isPlaceholderData);
  const rows = chats.data?.chats ?? [];
  const isCurrent = typed.trim() === query.trim() && !chats.isPlaceholderData;
  const [, navigate] = useLocation();
  const first = opensFirst && isCurrent ? rows[0] : undefined;
  const address = first && addressOf(first, query);
  useEffect(() => {
    if (address === undefined) return;
    setOpensFirst(false);
    navigate(address);
    close?.();
  }, [address, navigate, close]);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the arrows go from one thing in it to another
    <div className="beside-inner" onKeyDown={moveFocus}>
      <div className="beside-head">
        <Button
          className="beside-new"
          title="Ctrl+Shift+O or ⇧⌘O"
          onClick={() => {
            navigate(chatAddress(unsaidChatId()));
            close?.();
          }}
        >
          <Icon name="edit" size={18} />
          New chat
        </Button>
        {close === undefined ? null : (
          <Button kind="quiet" className="button-icon" aria-label="Close" onClick={close}>
            <Icon name="close" />
          </Button>
        )}
      </div>
      <search>
        <SearchField
          typed={typed}
          setTyped={(text) => {
            setOpensFirst(false);
            setTyped(text);
          }}
          placeholder="Search all chats"
          isAsked={isAsked}
          openFirst={() => setOpensFirst(typed.trim() !== "")}
        />
      </search>
      <div className="beside-list" aria-busy={chats.isPlaceholderData}>
        <QueryError query={chats} />
        {chats.isPending ? <Loading label="Loading the chats" /> : null}
        {words === "" ? (
          <ByDay rows={rows} current={current} isDone={chats.isSuccess} />
        ) : (
          <Found rows={rows} query={words} isDone={chats.isSuccess && isCurrent} />
        )}
      </div>
      <Link className="hint beside-all" to={query === "" ? "/chats" : `/chats?${asSearch(query)}`}>
        All chats
      </Link>
    </div>
  );
}

function asSearch(query: string): string {
  return new URLSearchParams({ q: query }).toString();
}

interface ByDayProps {
  readonly rows: readonly ChatListRow[];
  readonly current: string;
  readonly isDone: boolean;
}

function ByDay({ rows, current, isDone }: ByDayProps) {
  const id = useId();
  const now = useNow(60_000);
  if (rows.length === 0) return isDone ? <p className="beside-none">No chats yet</p> : null;
  return groupsOf(rows, now).map(({ name, chats }, index) => (
    <section key={name}>
      <p id={`${id}${index}`} className="fine beside-day">
        {name}
      </p>
      <ul aria-labelledby={`${id}${index}`}>
        {chats.map((row) => (
          <BesideRow key={row.chat_id} row={row} isCurrent={row.chat_id === current} />
        ))}
      </ul>
    </section>
  ));
}

interface FoundProps {
  readonly rows: readonly ChatListRow[];
  readonly query: string;
  readonly isDone: boolean;
}

function Found({ rows, query, isDone }: FoundProps) {
  if (rows.length === 0) return isDone ? <p className="beside-none">No results</p> : null;
  return (
    <ul aria-label="Search results">
      {rows.map((row) => (
        <FoundRow key={row.chat_id} row={row} query={query} />
      ))}
    </ul>
  );
}

/** How long typing pauses before the search starts. */
const restMs = 200;

/** What was typed, once typing pauses; an emptied field at once. */
function useRested(typed: string): string {
  const [rested, setRested] = useState(typed);
  if (typed === "" && rested !== "") setRested("");
  useEffect(() => {
    const timer = setTimeout(() => setRested(typed), restMs);
    return () => clearTimeout(timer);
  }, [typed]);
  return rested;
}
