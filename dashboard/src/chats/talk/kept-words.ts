// What was typed and is in no chat yet, by chat: the browser keeps it for this tab, so that a reload
// loses no word. Where it keeps nothing, this page does while it is open.
import { ProblemError } from "../../api/client.ts";
import { defaultChat } from "../../shell/routes.ts";
import { isOnItsWay, type Waiting } from "./feed-state.ts";

export interface Words {
  readonly draft: string;
  /** What was typed in the place of messages, by their ids. */
  readonly edits: readonly (readonly [messageId: string, content: string])[];
  readonly waiting: readonly Waiting[];
  /** Whether the chat was there: one that was there and is not was forgotten. */
  readonly isBegun: boolean;
}

type Entry = readonly [chatId: string, words: Words];

const storageKey = "throughline-words";
const maxChats = 20;
/** As the browser counts it, two bytes each: 1 MiB. */
const maxLength = 2 ** 19;

/** The newest last. */
const all = new Map<string, Words>(read());
/** What was kept of a chat. What the server did not confirm may have arrived, or not. */
export function keptWords(chatId: string): Words | undefined {
  const words = all.get(chatId);
  return words && { ...words, waiting: words.waiting.map(restored) };
}

/** Keeps the words of a chat in the place of those before; none leave nothing. */
export function keepWords(chatId: string, words: Words): void {
  const isKnown = all.delete(chatId);
  const isEmpty = words.draft === "" && words.edits.length === 0 && words.waiting.length === 0;
  if (!isEmpty) all.set(chatId, words);
  if (isKnown || !isEmpty) write();
}

export function dropWords(chatId: string): void {
  if (all.delete(chatId)) write();
}

/** The chats of which words are kept. */
export function keptChats(): readonly string[] {
  return [...all.keys()];
}

/** The last new chat in which something was typed, and nothing said yet. */
export function typedChat(): string | undefined {
  const isUnsaid = ([chatId, { isBegun, waiting }]: Entry) =>
    chatId !== defaultChat && !isBegun && !waiting.some(isOnItsWay);
  return [...all].findLast(isUnsaid)?.[0];
}

function restored(entry: Waiting): Waiting {
  const { state, error } = entry;
  const isProblem = typeof error === "object" && error !== null && "status" in error;
  // Leaving the page cuts off what is being sent, which then looks as if the server were away.
  const isUnanswered = state === "failed" && isProblem && error.status === 0;
  if (state === "sending" || isUnanswered) return { ...entry, state: "unsure", error: undefined };
  return { ...entry, error: isProblem ? new ProblemError(error as ProblemError) : undefined };
}

function read(): readonly Entry[] {
  try {
    return JSON.parse(sessionStorage.getItem(storageKey) ?? "[]") as readonly Entry[];
  } catch {
    return []; // this browser keeps nothing
  }
}

/** The newest, as many as there is room for. */
function write(): void {
  const kept: string[] = [];
  let length = 0;
  for (const entry of [...all].reverse()) {
    const text = JSON.stringify(entry);
    if (kept.length === maxChats) break;
    if (length + text.length > maxLength) continue;
    length += text.length;
    kept.unshift(text);
  }
  try {
    sessionStorage.removeItem(storageKey); // older words are not left where newer ones do not fit
    if (kept.length > 0) sessionStorage.setItem(storageKey, `[${kept.join(",")}]`);
  } catch {
    // as in `read`
  }
}

/** Two texts that were typed, as one: neither is lost. */
export function joined(first: string, second: string): string {
  return [first, second].filter((text) => text.trim() !== "").join("\n");
}
