import { serverNow } from "../../api/server-clock.ts";
import { Loading, Page } from "../../ui/page.tsx";
import { Acts } from "./acts.tsx";
import { Levels } from "./levels.tsx";
import "./mood.css";
import { QueryError } from "../../ui/error-note.tsx";
import { useNow } from "../../ui/time.tsx";
import { MoodOverTime } from "./mood-history.tsx";
import { MoodNow } from "./mood-now.tsx";
import { useEmotions } from "./use-emotions.ts";
import { Wounds } from "./wounds.tsx";

/** The mood as it is now and as it was, and what can be done to it. */
export function MoodView() {
  const query = useEmotions();
  const { data, dataUpdatedAt, isPending } = query;
  const now = useNow();
  const elapsed = (now - dataUpdatedAt) / 1000;
  return (
    <Page title="Mood">
      <div className="mood">
        <QueryError query={query} />
        {isPending ? <Loading label="Loading the mood" /> : null}
        {data === undefined ? null : (
          <>
            <MoodNow emotions={data} elapsed={elapsed} now={serverNow()} />
            <Warnings warnings={data.warnings} />
            <div className="mood-pair">
              <Levels emotions={data} />
              <Wounds emotions={data} elapsed={elapsed} />
            </div>
            <MoodOverTime />
            <Acts emotions={data} />
          </>
        )}
      </div>
    </Page>
  );
}

function Warnings({ warnings }: { readonly warnings: readonly string[] }) {
  if (warnings.length === 0) return null;
  return (
    <section className="mood-warnings" aria-labelledby="warnings-title">
      <h2 id="warnings-title">Configuration warnings</h2>
      <ul>
        {warnings.map((warning) => (
          <li key={warning}>{warning}</li>
        ))}
      </ul>
    </section>
  );
}
