import { useEffect, useMemo, useState } from "react";
import { useLocation, useSearchParams } from "wouter";
import { chatAddress, type MessagePlace, messageOf } from "../../shell/routes.ts";
import type { Feed } from "./feed.ts";
import { findMessage, type Outcome } from "./find-message.ts";

export interface Found {
  /** `none`: the address names no message. */
  readonly outcome: Outcome | "seeking" | "none";
  /** The message, if the feed has it. */
  readonly id: string | undefined;
  /** The message that the address names. */
  readonly wanted: MessagePlace | undefined;
  /** What was searched for; "": nothing. */
  readonly query: string;
  readonly again: () => void;
  /** Removes the message from the address. */
  readonly leave: () => void;
}

/** The message that the address opens the chat at, which a reload and Back keep. */
export function useFound(feed: Feed): Found {
  const [, navigate] = useLocation();
  const [params] = useSearchParams();
  const wanted = useMemo(() => messageOf(params), [params]);
  const [last, setLast] = useState<{ readonly wanted: unknown; readonly outcome: Outcome }>();
  const isDone = last !== undefined && last.wanted === wanted;
  useEffect(() => {
    if (wanted === undefined || isDone) return;
    const leaving = new AbortController();
    void findMessage(feed, wanted, leaving.signal).then((outcome) => {
      if (outcome !== undefined) setLast({ wanted, outcome });
    });
    return () => leaving.abort();
  }, [feed, wanted, isDone]);
  const outcome = wanted === undefined ? "none" : isDone ? last.outcome : "seeking";
  return {
    outcome,
    id: outcome === "there" ? wanted?.id : undefined,
    wanted,
    query: params.get("q") ?? "",
    again: () => setLast(undefined),
    leave: () => navigate(chatAddress(feed.chatId), { replace: true }),
  };
}
