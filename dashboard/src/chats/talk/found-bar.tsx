// The bar above a chat that a search opened: how many messages hold the words, and the way between them.
import { useQuery } from "@tanstack/react-query";
import type { RefCallback } from "react";
import { useLocation } from "wouter";
import { chatPath, request } from "../../api/client.ts";
import type { Matches } from "../../api/openapi-types.ts";
import { type MessagePlace, messageAddress } from "../../shell/routes.ts";
import { Button } from "../../ui/button.tsx";
import { When } from "../../ui/time.tsx";
import type { Found } from "./use-found.ts";

interface FoundBarProps {
  readonly chatId: string;
  /** What was searched for. */
  readonly query: string;
  /** The message that the chat is opened at. */
  readonly at: MessagePlace;
  readonly leave: () => void;
}

/** The most that the server returns for one chat. */
const maxMatches = 1_000;

export function FoundBar({ chatId, query, at, leave }: FoundBarProps) {
  const [, navigate] = useLocation();
  const matches = useMatches(chatId, query);
  // In the order in which they are read.
  const earlier = matches.filter(({ seq }) => seq < at.seq);
  const later = matches.filter(({ seq }) => seq > at.seq);
  const current = matches.find(({ id }) => id === at.id);
  const go = (match: MessagePlace | undefined) => {
    if (match !== undefined) navigate(messageAddress(chatId, match, query), { replace: true });
  };
  const all = `${matches.length.toLocaleString("en-GB")}${matches.length === maxMatches ? "+" : ""}`;
  return (
    <section className="row found-bar" aria-label="Search in this chat">
      <p role="status">
        {matches.length === 0 ? "" : `“${query.trim()}”: `}
        {current === undefined ? "" : `match ${earlier.length + 1} of ${all}`}
        {current === undefined && matches.length > 0 ? `${all} matches` : ""}
      </p>
      {current === undefined ? null : <When at={current.timestamp} />}
      <Button kind="quiet" aria-disabled={earlier.length === 0} onClick={() => go(earlier.at(-1))}>
        Previous match
      </Button>
      <Button kind="quiet" aria-disabled={later.length === 0} onClick={() => go(later[0])}>
        Next match
      </Button>
      <Button kind="quiet" onClick={leave}>
        Close search
      </Button>
    </section>
  );
}

/** Every match in a chat, in the order in which it was said. */
function useMatches(chatId: string, query: string): Matches["matches"] {
  const { data } = useQuery({
    queryKey: ["matches", chatId, query],
    queryFn: ({ signal }) => {
      const search = new URLSearchParams({ query, prefix: "true" });
      return request<Matches>(`${chatPath(chatId)}/matches?${search}`, { signal });
    },
    select: ({ matches }) => matches.toReversed(),
  });
  return data ?? [];
}

interface FoundNoteProps {
  readonly found: Found;
  readonly leaving: RefCallback<HTMLElement>;
}

const reasons = {
  gone: "This message is no longer shown: it was removed, cleared or replaced.",
  far: "This message is too far back to be shown.",
  failed: "This message could not be loaded.",
} as const;

/** Why the chat was not opened at the message that was found. */
export function FoundNote({ found, leaving }: FoundNoteProps) {
  const { outcome } = found;
  if (outcome === "none" || outcome === "seeking" || outcome === "there") return null;
  return (
    <section className="offer" aria-label="Search result">
      <p role="alert">{reasons[outcome]}</p>
      <div>
        {outcome === "failed" ? (
          <Button kind="quiet" onClick={found.again}>
            Try again
          </Button>
        ) : null}
        <Button ref={leaving} kind="quiet" onClick={found.leave}>
          Close
        </Button>
      </div>
    </section>
  );
}
