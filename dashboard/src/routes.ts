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

/** Where a chat is read and talked in. */
export function chatAddress(chatId: string): string {
  return chatId === defaultChat ? "/" : `/chats/${encodeURIComponent(chatId)}`;
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined; // a URIError: that is no address of ours
  }
}
