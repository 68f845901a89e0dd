// What was typed and not stored by the server, by chat. The browser keeps it for this tab, so that a
// reload loses nothing. A browser that stores nothing keeps it as long as the page is open.
import { ProblemError } from "../../api/client.ts";
import { defaultChat } from "../../shell/routes.ts";
import type { Model } from "../models/model-names.ts";
import { isOnItsWay, type Waiting } from "./feed-state.ts";
import type { DraftFile } from "./files/draft-files.ts";

export interface Drafts {
  readonly draft: string;
  /** What was attached: after a reload only its names. */
  readonly files?: readonly DraftFile[];
  /** Edits of messages, by their ids. */
  readonly edits: readonly (readonly [messageId: string, content: string])[];
  readonly waiting: readonly Waiting[];
  /** The model that was chosen for the next message. */
  readonly model?: Model | undefined;
  /** Whether the chat had messages: if it has none now, it was forgotten. */
  readonly isBegun: boolean;
}

type Entry = readonly [chatId: string, words: Drafts];

const storageKey = "throughline-words";
const maxChats = 20;
/** In UTF-16 units: 1 MiB. */
const maxLength = 2 ** 19;

/** The newest last. */
const all = new Map<string, Drafts>(read());
/** The drafts of a chat. A message that the server did not confirm may have arrived, or not. */
export function draftsOf(chatId: string): Drafts | undefined {
  const words = all.get(chatId);
  return words && { ...words, waiting: words.waiting.map(restored) };
}

/** Replaces the drafts of a chat; empty ones are removed. */
export function saveDrafts(chatId: string, words: Drafts): void {
  const isKnown = all.delete(chatId);
  const isEmpty = !isTyped(words) && words.waiting.length === 0 && words.model === undefined;
  if (!isEmpty) all.set(chatId, words);
  if (isKnown || !isEmpty) write();
}

export function chatsWithDrafts(): readonly string[] {
  return [...all.keys()];
}

/** The newest chat without messages in which something was typed. */
export function newestUnsentChat(): string | undefined {
  const isUnsaid = ([chatId, words]: Entry) =>
    chatId !== defaultChat &&
    !words.isBegun &&
    (isTyped(words) || words.waiting.length > 0) &&
    !words.waiting.some(isOnItsWay);
  return [...all].findLast(isUnsaid)?.[0];
}

function isTyped({ draft, files = [], edits }: Drafts): boolean {
  return draft !== "" || files.length > 0 || edits.length > 0;
}

function restored(entry: Waiting): Waiting {
  const { state, error } = entry;
  const isProblem = typeof error === "object" && error !== null && "status" in error;
  // Leaving the page aborts a request, which then looks as if the server were away.
  const isUnanswered = state === "failed" && isProblem && error.status === 0;
  if (state === "sending" || isUnanswered) return { ...entry, state: "unsure", error: undefined };
  return { ...entry, error: isProblem ? new ProblemError(error as ProblemError) : undefined };
}

function read(): readonly Entry[] {
  try {
    return JSON.parse(sessionStorage.getItem(storageKey) ?? "[]") as readonly Entry[];
  } catch {
    return []; // this browser stores nothing
  }
}

/** The newest, as many as fit. */
function write(): void {
  const kept: string[] = [];
  let length = 0;
  for (const entry of [...all].reverse()) {
    const text = JSON.stringify(entry, (name, value) => (name === "file" ? undefined : value));
    if (kept.length === maxChats) break;
    if (length + text.length > maxLength) continue;
    length += text.length;
    kept.unshift(text);
  }
  try {
    sessionStorage.removeItem(storageKey); // older drafts must not stay if newer ones do not fit
    if (kept.length > 0) sessionStorage.setItem(storageKey, `[${kept.join(",")}]`);
  } catch {
    // as in `read`
  }
}

/** Joins two drafts. */
export function joined(first: string, second: string): string {
  return [first, second].filter((text) => text.trim() !== "").join("\n");
}

type Said = Pick<Waiting, "content" | "files">;

/** Gives back the first message if the other one has the same words and files. */
export function ifSame(one: Waiting | undefined, other: Said): Waiting | undefined {
  const keys = ({ files = [] }: Said) => files.map(({ key }) => key).join();
  return one?.content === other.content && keys(one) === keys(other) ? one : undefined;
}
