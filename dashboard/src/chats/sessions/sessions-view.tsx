import { type ReactNode, useRef, useState } from "react";
import { StatusPage } from "../../shell/status-page.tsx";
import { QueryError } from "../../ui/error-note.tsx";
import { MoreButton } from "../../ui/more-button.tsx";
import { Empty, Loading } from "../../ui/page.tsx";
import { ResetDialog } from "../chat-dialogs.tsx";
import { ChatSession, type WantedReset } from "./chat-session.tsx";
import { Totals } from "./totals.tsx";
import { useSessions } from "./use-sessions.ts";
import "./sessions.css";

/** The sessions of each chat with its providers, and what they cost. `note` stands above. */
export function SessionsView({ note }: { readonly note: ReactNode }) {
  const { list, sessions } = useSessions();
  const rows = useRef<HTMLUListElement>(null);
  const [reset, setReset] = useState<WantedReset>();
  const known = sessions.flatMap(({ chat }) => chat ?? []);
  const isAwaited = sessions.some(({ isPending }) => isPending);
  // One by one they would change the words, and the height, of what stands above them.
  const [isSummed, setIsSummed] = useState(false);
  if (!isSummed && !isAwaited && known.length > 0) setIsSummed(true);
  const isComing = list.isPending || (!isSummed && isAwaited);
  return (
    <StatusPage part="Sessions">
      <div className="stack sessions">
        <QueryError query={list} />
        {note}
        {list.isSuccess && sessions.length === 0 ? (
          <Empty title="No sessions yet">The first message of a chat starts one.</Empty>
        ) : null}
        {isComing ? (
          <div className="totals">
            <Loading label="Loading the sessions" />
          </div>
        ) : null}
        {known.length === 0 || isComing ? null : (
          <Totals chats={known} isAll={!list.hasNextPage && known.length === sessions.length} />
        )}
        <ul ref={rows} className="session-list">
          {sessions.map((session) => (
            <ChatSession key={session.row.chat_id} session={session} onReset={setReset} />
          ))}
        </ul>
        <MoreButton list={list} rows={rows}>
          {list.isFetchingNextPage ? "Loading…" : "Show more chats"}
        </MoreButton>
      </div>
      {reset === undefined ? null : <ResetDialog {...reset} onClose={() => setReset(undefined)} />}
    </StatusPage>
  );
}
