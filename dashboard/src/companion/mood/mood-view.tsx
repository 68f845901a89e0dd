import { serverNow } from "../../api/server-clock.ts";
import { Page } from "../../ui/page.tsx";
import { Acts } from "./acts.tsx";
import { Levels } from "./levels.tsx";
import "./mood.css";
import { Loaded } from "../../ui/error-note.tsx";
import { useNow } from "../../ui/time.tsx";
import { MoodOverTime } from "./mood-history.tsx";
import { MoodNow } from "./mood-now.tsx";
import { useEmotions } from "./use-emotions.ts";
import { Wounds } from "./wounds.tsx";

/** The mood as it is now and as it was, and what can be done to it. */
export function MoodView() {
  const query = useEmotions();
  const elapsed = (useNow() - query.dataUpdatedAt) / 1000;
  return (
    <Page title="Mood">
      <div className="mood">
        <Loaded query={query} what="the mood">
          {(emotions) => (
            <>
              <MoodNow emotions={emotions} elapsed={elapsed} now={serverNow()} />
              <Warnings warnings={emotions.warnings} />
              <div className="mood-pair">
                <Levels emotions={emotions} />
                <Wounds emotions={emotions} elapsed={elapsed} />
              </div>
              <MoodOverTime />
              <Acts emotions={emotions} />
            </>
          )}
        </Loaded>
      </div>
    </Page>
  );
}

function Warnings({ warnings }: { readonly warnings: readonly string[] }) {
  if (warnings.length === 0) return null;
  return (
    <section className="mood-warnings" aria-labelledby="warnings-title">
      <h2 id="warnings-title">Configuration warnings</h2>
      <ul className="bullets">
        {warnings.map((warning) => (
          <li key={warning}>{warning}</li>
        ))}
      </ul>
    </section>
  );
}
