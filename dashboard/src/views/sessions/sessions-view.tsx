import { useState } from "react";
import { ResetDialog } from "../../chats/chat-dialogs.tsx";
import { Button } from "../../ui/button.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Loading } from "../../ui/loading.tsx";
import { Page } from "../../ui/page.tsx";
import { Trouble } from "../mood/trouble.tsx";
import { ChatSession, type Reset } from "./chat-session.tsx";
import { Totals } from "./totals.tsx";
import { useSessions } from "./use-sessions.ts";
import "./sessions.css";

/** What runs with which provider in each chat, and what it came to. */
export function SessionsView() {
  const { list, sessions } = useSessions();
  const [reset, setReset] = useState<Reset>();
  const known = sessions.flatMap(({ chat }) => chat ?? []);
  return (
    <Page title="Sessions">
      <div className="sessions">
        <Trouble query={list} />
        {list.isPending ? <Loading label="Loading the sessions" /> : null}
        {list.isSuccess && sessions.length === 0 ? (
          <Empty title="No session yet">The first message of a chat begins one.</Empty>
        ) : null}
        {known.length === 0 ? null : (
          <Totals chats={known} isAll={!list.hasNextPage && known.length === sessions.length} />
        )}
        <ul className="session-list">
          {sessions.map((session) => (
            <ChatSession key={session.row.chat_id} session={session} onReset={setReset} />
          ))}
        </ul>
        {list.hasNextPage ? (
          <Button
            className="sessions-more"
            disabled={list.isFetchingNextPage}
            onClick={() => void list.fetchNextPage()}
          >
            {list.isFetchingNextPage ? "Loading…" : "Show more chats"}
          </Button>
        ) : null}
      </div>
      {reset === undefined ? null : <ResetDialog {...reset} onClose={() => setReset(undefined)} />}
    </Page>
  );
}
