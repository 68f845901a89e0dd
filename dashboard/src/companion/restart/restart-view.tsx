import { useFreshChats } from "../../chats/use-chat.ts";
import { StatusPage } from "../../shell/status-page.tsx";
import { QueryError } from "../../ui/error-note.tsx";
import { Loading } from "../../ui/page.tsx";
import { useCompanionRun } from "../use-companion.ts";
import { Interrupted } from "./interrupted.tsx";
import { Notices } from "./notices.tsx";
import { People } from "./people.tsx";
import { Report } from "./report.tsx";
import "./restart.css";

/** The last restart, what the models were told about it, and who was seen since. */
export function RestartView() {
  const query = useCompanionRun();
  const { data, isPending } = query;
  useFreshChats();
  return (
    <StatusPage part="Restart">
      <div className="restart">
        <QueryError query={query} />
        {isPending ? <Loading label="Loading the report" /> : null}
        {data === undefined ? null : (
          <>
            <Report run={data} />
            <Interrupted turns={data.interrupted_turns} />
            <People run={data} />
          </>
        )}
        {/* Asked for at once, and shown when what stands above it is there. */}
        <div hidden={isPending}>
          <Notices />
        </div>
      </div>
    </StatusPage>
  );
}
