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
  /** Forgets it: the address is the chat's own. */
  readonly leave: () => void;
}

/** The message that the address opens the chat at, which a reload and Back keep. */
export function useFound(feed: Feed): Found {
  const [, navigate] = useLocation();
  const [params] = useSearchParams();
  const wanted = useMemo(() => messageOf(params), [params]);
  const [told, setTold] = useState<{ readonly wanted: unknown; readonly outcome: Outcome }>();
  const isTold = told !== undefined && told.wanted === wanted;
  useEffect(() => {
    if (wanted === undefined || isTold) return;
    const leaving = new AbortController();
    void findMessage(feed, wanted, leaving.signal).then((outcome) => {
      if (outcome !== undefined) setTold({ wanted, outcome });
    });
    return () => leaving.abort();
  }, [feed, wanted, isTold]);
  const outcome = wanted === undefined ? "none" : isTold ? told.outcome : "seeking";
  return {
    outcome,
    id: outcome === "there" ? wanted?.id : undefined,
    wanted,
    query: params.get("q") ?? "",
    again: () => setTold(undefined),
    leave: () => navigate(chatAddress(feed.chatId), { replace: true }),
  };
}
