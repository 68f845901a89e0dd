import type { ReactNode } from "react";
import type { CompanionRun } from "../../api/openapi-types.ts";
import { counted, fullTime } from "../../ui/in-words.ts";
import { certaintyWords, gapInWords, kindWords } from "./restart-words.ts";

/** The kind of the last restart in a few words, and the facts that it follows from. */
export function Report({ run }: { readonly run: CompanionRun }) {
  const { title, says } = kindWords[run.restart_type];
  const isFirst = run.restart_type === "fresh_start";
  return (
    <section aria-labelledby="report-title">
      <h2 id="report-title" className="restart-kind">
        {title}
      </h2>
      <p className="restart-says">{says}</p>
      <dl className="facts">
        {isFirst ? null : <BeforeFacts run={run} />}
        <Fact name="This run">
          Run {run.total_sessions.toLocaleString("en-GB")}
          <span className="hint fact-note">
            <code>{run.session_id}</code> since {fullTime(run.session_start * 1000)}
          </span>
        </Fact>
        <Fact name="Quarantined">
          {run.quarantined === 0 ? "Nothing" : counted(run.quarantined, "item")}
          <span className="hint fact-note">
            {run.quarantined === 0 ? (
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

function BeforeFacts({ run }: { readonly run: CompanionRun }) {
  return (
    <>
      <Fact name="Down for">
        {gapInWords(run.elapsed)}
        <span className="hint fact-note">{certaintyWords[run.certainty]}</span>
      </Fact>
      <Fact name="Previous run">
        {run.clean ? "Shut down cleanly" : "Crashed or was killed"}
        <span className="hint fact-note">
          {run.previous_session_id === null ? (
            "Its id is not known."
          ) : (
            <code>{run.previous_session_id}</code>
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
