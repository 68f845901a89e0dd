import { useFreshChats } from "../../chats/use-chat.ts";
import { StatusPage } from "../../shell/status-page.tsx";
import { Loaded } from "../../ui/error-note.tsx";
import { useCompanionRun } from "../use-companion.ts";
import { Interrupted } from "./interrupted.tsx";
import { Notices } from "./notices.tsx";
import { People } from "./people.tsx";
import { Report } from "./report.tsx";
import "./restart.css";

/** The last restart, what the models were told about it, and who was seen since. */
export function RestartView() {
  const query = useCompanionRun();
  useFreshChats();
  return (
    <StatusPage part="Restart">
      <div className="stack restart">
        <Loaded query={query} what="the report">
          {(run) => (
            <>
              <Report run={run} />
              <Interrupted turns={run.interrupted_turns} />
              <People run={run} />
            </>
          )}
        </Loaded>
        {/* Asked for at once, and shown when what stands above it is there. */}
        <div hidden={query.isPending}>
          <Notices />
        </div>
      </div>
    </StatusPage>
  );
}
