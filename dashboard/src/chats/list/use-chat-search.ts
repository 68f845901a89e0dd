import { useEffect, useState } from "react";
import { useSearchParams } from "wouter";
import type { ChatFilter } from "./use-chats.ts";

/** How long typing pauses before the search starts. */
const restMs = 200;

/** The search and the filters, which are part of the address, so that Back restores them. */
export function useChatSearch() {
  const [params, setParams] = useSearchParams();
  const query = params.get("q") ?? "";
  const [typed, setTyped] = useState(query);
  const [known, setKnown] = useState(query);
  if (query !== known) {
    setKnown(query);
    // The address changed by itself, not because of what is typed.
    if (query !== wordsOf(typed)) setTyped(query);
  }
  useEffect(() => {
    const wanted = wordsOf(typed);
    if (wanted === query) return;
    const timer = setTimeout(() => setParams(withParam("q", wanted), { replace: true }), restMs);
    return () => clearTimeout(timer);
  }, [typed, query, setParams]);
  const filter: ChatFilter = {
    query,
    unanswered: params.has("unanswered"),
    damaged: params.has("damaged"),
  };
  const setFilter = (name: "unanswered" | "damaged", isOn: boolean) =>
    setParams(withParam(name, isOn ? "1" : ""), { replace: true });
  return { typed, setTyped, filter, setFilter, isCurrent: wordsOf(typed) === query };
}

/** White space at the end says that the last word is whole. */
function wordsOf(typed: string): string {
  return typed.trim() === "" ? "" : typed.trimStart();
}

function withParam(name: string, value: string) {
  return (now: URLSearchParams) => {
    const next = new URLSearchParams(now);
    if (value === "") next.delete(name);
    else next.set(name, value);
    return next;
  };
}
