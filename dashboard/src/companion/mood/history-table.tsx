import type { MoodHistory } from "../../api/openapi-types.ts";
import { fullTime, percent } from "../../ui/in-words.ts";
import { emotions, marksOf, valuesOf } from "./history-facts.ts";
import type { RangedHistory } from "./use-emotion-history.ts";
import { asTitle, inWords } from "./words.ts";

/** Enough rows to see the course, and few enough to read. */
const mostRows = 24;
const mostMarks = 100;

/** All that the chart shows, in words and numbers. */
export function HistoryTable({ history }: { readonly history: RangedHistory }) {
  return (
    <details className="history-table">
      <summary className="unfold">Show as a table</summary>
      <LevelTable history={history} />
      <h3>What happened</h3>
      <Marks history={history} />
    </details>
  );
}

function LevelTable({ history }: { readonly history: RangedHistory }) {
  const step = Math.max(1, Math.ceil(history.at.length / mostRows));
  const rows = history.at
    .map((at, index) => ({ at, index }))
    .filter(({ index }) => (history.at.length - 1 - index) % step === 0)
    .toReversed();
  const cells = (line: (typeof emotions)[number] | "boredom", index: number) => {
    const value = valuesOf(history, line)[index] ?? null;
    return <td key={line}>{value === null ? "" : percent(value)}</td>;
  };
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, by keyboard too
    <section className="table-scroll" aria-label="Levels over time" tabIndex={0}>
      <table>
        <caption>
          Levels over {history.range.says}, newest first. A cell is empty where Throughline was not
          running.
        </caption>
        <thead>
          <tr>
            <th scope="col">Time</th>
            <th scope="col">Mood</th>
            {[...emotions, "boredom"].map((line) => (
              <th key={line} scope="col">
                {asTitle(line)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ at, index }) => (
            <tr key={at}>
              <th scope="row">{fullTime(at)}</th>
              <td>{inWords(history.mood[index] ?? "")}</td>
              {[...emotions, "boredom" as const].map((line) => cells(line, index))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Marks({ history }: { readonly history: MoodHistory }) {
  const marks = marksOf(history);
  if (marks.length === 0) return <p className="hint">No events.</p>;
  return (
    <>
      <ul className="history-marks">
        {marks.slice(0, mostMarks).map(({ key, at, says }) => (
          <li key={key}>
            <time dateTime={new Date(at).toISOString()}>{fullTime(at)}</time> {says}
          </li>
        ))}
      </ul>
      {marks.length > mostMarks ? (
        <p className="hint">{marks.length - mostMarks} earlier entries are not shown.</p>
      ) : null}
    </>
  );
}
