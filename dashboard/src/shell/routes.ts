// The addresses of the page. A chat's id stands in one as it stands in the API: percent-encoded.
import { useMemo } from "react";
import { usePathname } from "wouter/use-browser-location";

/** The chat that `/` talks in. */
export const defaultChat = "local:me";

const plain = ["chats", "mood", "waking", "sessions", "memory", "moments"] as const;

export type Route =
  | { readonly view: "talk" | "chat"; readonly chatId: string }
  | { readonly view: (typeof plain)[number] | "none" };

export type ViewName = Route["view"];

/** Where the page is now. */
export function useRoute(): Route {
  const path = usePathname();
  return useMemo(() => routeOf(path), [path]);
}

/** @param path as it stands in the address, still encoded. */
export function routeOf(path: string): Route {
  const parts = path.split("/").filter((part) => part !== "");
  const [first = "", second] = parts;
  if (first === "") return { view: "talk", chatId: defaultChat };
  if (first === "chats" && second !== undefined && parts.length === 2) {
    const chatId = decoded(second);
    return chatId === undefined ? { view: "none" } : { view: "chat", chatId };
  }
  const view = plain.find((name) => name === first);
  return { view: view === undefined || parts.length > 1 ? "none" : view };
}

export function chatAddress(chatId: string): string {
  return chatId === defaultChat ? "/" : `/chats/${encodeURIComponent(chatId)}`;
}

/** Where the next prompt of a chat is shown. */
export function promptAddress(chatId: string): string {
  return `/memory?${new URLSearchParams({ chat: chatId })}`;
}

/** A message by its name and its place in the chat. */
export interface MessagePlace {
  readonly id: string;
  readonly seq: number;
}

/** The address of a message in its chat. @param query the search that found it, if any. */
export function messageAddress(chatId: string, { id, seq }: MessagePlace, query = ""): string {
  const params = new URLSearchParams({ message: id, seq: String(seq) });
  if (query !== "") params.set("q", query);
  return `${chatAddress(chatId)}?${params}`;
}

/** The message that an address opens its chat at. */
export function messageOf(params: URLSearchParams): MessagePlace | undefined {
  const id = params.get("message") ?? "";
  const seq = Number(params.get("seq"));
  return id !== "" && Number.isSafeInteger(seq) && seq > 0 ? { id, seq } : undefined;
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined; // a URIError: that is no address of ours
  }
}
