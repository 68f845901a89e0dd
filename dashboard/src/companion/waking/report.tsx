import type { ReactNode } from "react";
import type { CompanionSession } from "../../api/openapi-types.ts";
import { counted, fullTime } from "../../ui/in-words.ts";
import { certaintyWords, gapInWords, kindWords } from "./restart-words.ts";

/** How the companion woke: the kind in a few words, and the facts that it follows from. */
export function Report({ session }: { readonly session: CompanionSession }) {
  const { title, says } = kindWords[session.restart_type];
  const isFirst = session.restart_type === "fresh_start";
  return (
    <section aria-labelledby="report-title">
      <h2 id="report-title" className="waking-kind">
        {title}
      </h2>
      <p className="waking-says">{says}</p>
      <dl className="facts">
        {isFirst ? null : <BeforeFacts session={session} />}
        <Fact name="This run">
          Session {session.total_sessions.toLocaleString()}
          <span className="fact-note">
            <code>{session.session_id}</code> since {fullTime(session.session_start * 1000)}
          </span>
        </Fact>
        <Fact name="Set aside">
          {session.quarantined === 0 ? "Nothing" : counted(session.quarantined, "item")}
          <span className="fact-note">
            {session.quarantined === 0 ? (
              "All that was stored could be read."
            ) : (
              <>
                Could not be read, and was kept apart. <code>throughline doctor</code> tells more.
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
      <Fact name="Away for">
        {gapInWords(session.elapsed)}
        <span className="fact-note">{certaintyWords[session.certainty]}</span>
      </Fact>
      <Fact name="The run before">
        {session.clean ? "Ended cleanly" : "Was cut off"}
        <span className="fact-note">
          {session.previous_session_id === null ? (
            "Its name is not known."
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
