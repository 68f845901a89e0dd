import type { ReactNode } from "react";
import type { CompanionSession } from "../../api/openapi-types.ts";
import { counted, fullTime } from "../../ui/in-words.ts";
import { certaintyWords, gapInWords, kindWords } from "./restart-words.ts";

/** The kind of the last restart in a few words, and the facts that it follows from. */
export function Report({ session }: { readonly session: CompanionSession }) {
  const { title, says } = kindWords[session.restart_type];
  const isFirst = session.restart_type === "fresh_start";
  return (
    <section aria-labelledby="report-title">
      <h2 id="report-title" className="restart-kind">
        {title}
      </h2>
      <p className="restart-says">{says}</p>
      <dl className="facts">
        {isFirst ? null : <BeforeFacts session={session} />}
        <Fact name="This run">
          Run {session.total_sessions.toLocaleString()}
          <span className="fact-note">
            <code>{session.session_id}</code> since {fullTime(session.session_start * 1000)}
          </span>
        </Fact>
        <Fact name="Quarantined">
          {session.quarantined === 0 ? "Nothing" : counted(session.quarantined, "item")}
          <span className="fact-note">
            {session.quarantined === 0 ? (
              "All stored data could be read."
            ) : (
              <>
                Unreadable data was moved to quarantine. Run <code>throughline doctor</code> for
                details.
              </>
            )}
          </span>
        </Fact>
      </dl>
    </section>
  );
}

function BeforeFacts({ session }: { readonly session: CompanionSession }) {
  return (
    <>
      <Fact name="Down for">
        {gapInWords(session.elapsed)}
        <span className="fact-note">{certaintyWords[session.certainty]}</span>
      </Fact>
      <Fact name="Previous run">
        {session.clean ? "Shut down cleanly" : "Crashed or was killed"}
        <span className="fact-note">
          {session.previous_session_id === null ? (
            "Its id is not known."
          ) : (
            <code>{session.previous_session_id}</code>
          )}
        </span>
      </Fact>
    </>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
