import { useRef, useState } from "react";
import { AllowedProviders } from "../../companion/allowed-providers.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Loading } from "../../ui/loading.tsx";
import { MoreButton } from "../../ui/more-button.tsx";
import { Page } from "../../ui/page.tsx";
import { Trouble } from "../../ui/trouble.tsx";
import { ResetDialog } from "../chat-dialogs.tsx";
import { ChatSession, type Reset } from "./chat-session.tsx";
import { Totals } from "./totals.tsx";
import { useSessions } from "./use-sessions.ts";
import "./sessions.css";

/** What runs with which provider in each chat, and what it came to. */
export function SessionsView() {
  const { list, sessions } = useSessions();
  const rows = useRef<HTMLUListElement>(null);
  const [reset, setReset] = useState<Reset>();
  const known = sessions.flatMap(({ chat }) => chat ?? []);
  const isAwaited = sessions.some(({ chat, error }) => chat === undefined && error === null);
  // One by one they would change the words, and the height, of what stands above them.
  const [isSummed, setIsSummed] = useState(false);
  if (!isSummed && !isAwaited && known.length > 0) setIsSummed(true);
  const isComing = list.isPending || (!isSummed && isAwaited);
  return (
    <Page title="Sessions">
      <div className="sessions">
        <Trouble query={list} />
        <AllowedProviders />
        {list.isSuccess && sessions.length === 0 ? (
          <Empty title="No session yet">The first message of a chat begins one.</Empty>
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
    </Page>
  );
}
