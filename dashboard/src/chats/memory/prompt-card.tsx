import { useIsFetching, useQuery } from "@tanstack/react-query";
import { type RefObject, useEffect, useId, useRef } from "react";
import { useLocation } from "wouter";
import { useSearch } from "wouter/use-browser-location";
import { chatPath, queryClient, request } from "../../api/client.ts";
import { useServerEvent } from "../../api/events.ts";
import type { ChatList, NextPrompt } from "../../api/openapi-types.ts";
import { defaultChat, promptAddress } from "../../shell/routes.ts";
import { Loaded, QueryError } from "../../ui/error-note.tsx";
import { chatName, type NamedChat } from "../chat-link.tsx";
import { draftsOf } from "../talk/drafts.ts";
import { PromptParts } from "./prompt-parts.tsx";
import "./prompt.css";

/** What the server takes of a message that is being typed. */
const maxDraft = 8_000;

/** Loads the prompt again: what it is made of has changed. */
export function refreshPrompt(): void {
  void queryClient.invalidateQueries({ queryKey: ["prompt"] });
}

/** What the model will get with the next message of a chat, part by part. */
export function PromptCard() {
  const card = useRef<HTMLElement>(null);
  const titleId = useId();
  const selectId = useId();
  const [, navigate] = useLocation();
  const asked = new URLSearchParams(useSearch()).get("chat");
  const list = useQuery({
    queryKey: ["chats", "newest"],
    queryFn: ({ signal }) => request<ChatList>("/api/chats?limit=50", { signal }),
  });
  useServerEvent("turn", refreshPrompt);
  useServerEvent("session", refreshPrompt);
  useServerEvent("message", refreshPrompt);
  const chats = list.data?.chats ?? [];
  const chatId = asked ?? (list.isPending ? undefined : (chats[0]?.chat_id ?? defaultChat));
  useShown(card, asked !== null && list.data !== undefined);
  return (
    <section ref={card} className="card stack memory-part" aria-labelledby={titleId}>
      <header className="memory-head">
        <h2 id={titleId}>Next prompt</h2>
        {chatId === undefined ? null : (
          <label className="hint prompt-chat" htmlFor={selectId}>
            <span>Chat</span>
            <select
              id={selectId}
              className="field"
              value={chatId}
              onChange={({ target }) => {
                navigate(promptAddress(target.value), { replace: true });
              }}
            >
              {namesOf(chats, chatId).map((chat) => (
                <option key={chat.chat_id} value={chat.chat_id}>
                  {chatName(chat)}
                </option>
              ))}
            </select>
          </label>
        )}
      </header>
      <p className="hint">
        What the model will get with your next message, word for word. The mood is as it is now:
        your message may change it.
      </p>
      <QueryError query={list} />
      {chatId === undefined ? null : <Prompt chatId={chatId} />}
    </section>
  );
}

/** Scrolls to it once: when it is wanted, and everything above it is there. */
function useShown(card: RefObject<HTMLElement | null>, isWanted: boolean): void {
  const isDone = useRef(false);
  const isReady = useIsFetching() === 0 && isWanted;
  useEffect(() => {
    if (!isReady || isDone.current) return;
    isDone.current = true;
    card.current?.scrollIntoView({ block: "start", behavior: "instant" });
  }, [card, isReady]);
}

/** The chats to choose from, with the one that is shown. */
function namesOf(chats: readonly NamedChat[], chatId: string): readonly NamedChat[] {
  if (chats.some(({ chat_id: id }) => id === chatId)) return chats;
  return [{ chat_id: chatId, title: chatId === defaultChat ? "" : chatId }, ...chats];
}

function Prompt({ chatId }: { readonly chatId: string }) {
  const draft = draftsOf(chatId)?.draft.slice(0, maxDraft) ?? "";
  const query = useQuery({
    queryKey: ["prompt", chatId, draft],
    queryFn: ({ signal }) => {
      const search = draft.trim() === "" ? "" : `?${new URLSearchParams({ content: draft })}`;
      return request<NextPrompt>(`${chatPath(chatId)}/prompt${search}`, { signal });
    },
    placeholderData: (before) => (before?.chat_id === chatId ? before : undefined),
    staleTime: 0,
  });
  return (
    <Loaded query={query} what="the prompt">
      {(prompt) => (
        <div className="stack prompt" aria-busy={query.isPlaceholderData}>
          <p className="prompt-sum">
            <strong>{totalWords(prompt)}</strong> <span>for {modelWords(prompt)}</span>
          </p>
          <PromptParts key={prompt.chat_id} prompt={prompt} />
          <Notes prompt={prompt} />
        </div>
      )}
    </Loaded>
  );
}

function totalWords({ total_tokens: total, window }: NextPrompt): string {
  if (window === null) return `About ${total.toLocaleString("en-GB")} tokens`;
  return `About ${total.toLocaleString("en-GB")} of ${window.toLocaleString("en-GB")} tokens`;
}

function modelWords({ provider, model }: NextPrompt): string {
  if (provider === "offline") return "the built-in responder (no model)";
  return `${provider}/${model}`;
}

/** Why there is no history, and what the provider counted. */
function Notes({ prompt }: { readonly prompt: NextPrompt }) {
  const notes = [
    ends[prompt.ends],
    prompt.resumes
      ? "The provider continues its own session: it has the history already, and is sent what is new."
      : "",
    prompt.reported_tokens === null
      ? ""
      : `The provider counted ${prompt.reported_tokens.toLocaleString("en-GB")} tokens for the last prompt.`,
    prompt.window === null
      ? `The window of this model is not known: you can name it when you start Throughline, with --window. The history gets at most ${prompt.history_tokens.toLocaleString("en-GB")} tokens.`
      : "",
  ].filter((note) => note !== "");
  if (notes.length === 0) return null;
  return (
    <ul className="bullets prompt-notes hint">
      {notes.map((note) => (
        <li key={note}>{note}</li>
      ))}
    </ul>
  );
}

const ends = {
  nothing: "",
  period:
    "Your next message begins a new session: what was said before stays in the chat, and the model no longer gets it.",
  provider:
    "Your next message starts this provider over: what was said before stays in the chat, and the model no longer gets it.",
} as const;
