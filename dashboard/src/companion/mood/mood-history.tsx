import { lazy, Suspense, useId, useState } from "react";
import type { MoodHistory } from "../../api/openapi-types.ts";
import { serverNow } from "../../api/server-clock.ts";
import { QueryError } from "../../ui/error-note.tsx";
import { fullTime, percent } from "../../ui/in-words.ts";
import { Loading } from "../../ui/page.tsx";
import {
  downSpans,
  hasCourse,
  type Line,
  lines,
  longestRange,
  type Range,
  ranges,
  summaryOf,
  valuesOf,
} from "./history-facts.ts";
import { HistoryTable } from "./history-table.tsx";
import { type RangedHistory, useEmotionHistory, useKnownSince } from "./use-emotion-history.ts";
import { asTitle, groupOf, inWords } from "./words.ts";
import "./history.css";

const HistoryChart = lazy(async () => {
  const { HistoryChart } = await import("./history-chart.tsx");
  return { default: HistoryChart };
});

/** The mood over time: drawn, in a few sentences, and as a table. */
export function MoodOverTime() {
  const since = useKnownSince();
  return (
    <section className="card" aria-labelledby="history-title">
      {since.isPending ? (
        <>
          <h2 id="history-title">Over time</h2>
          <Loading label="Loading the history" />
        </>
      ) : (
        <Course since={since.data ?? undefined} />
      )}
    </section>
  );
}

/** Opens on the longest range that shows more than a shorter one. */
function Course({ since }: { readonly since: number | undefined }) {
  const [range, setRange] = useState<Range>(() => longestRange(since, serverNow()));
  const history = useEmotionHistory(range, since);
  const { data } = history;
  return (
    <>
      <div className="spread history-head">
        <h2 id="history-title">Over time</h2>
        <RangeChoice range={range} onRange={setRange} />
      </div>
      <QueryError query={history} />
      {history.isPending ? <Loading label="Loading the history" /> : null}
      {data === undefined || hasCourse(data) ? null : (
        <p className="hint">
          There is nothing to draw for {data.range.says} yet. The mood is recorded while Throughline
          is running.
        </p>
      )}
      {data !== undefined && hasCourse(data) ? <Drawn history={data} /> : null}
    </>
  );
}

interface RangeProps {
  readonly range: Range;
  readonly onRange: (range: Range) => void;
}

function RangeChoice({ range, onRange }: RangeProps) {
  const name = useId();
  return (
    <fieldset className="segments">
      <legend className="visually-hidden">Time range</legend>
      {ranges.map((choice) => (
        <label key={choice.name}>
          <input
            type="radio"
            name={name}
            checked={choice === range}
            aria-label={choice.says}
            onChange={() => onRange(choice)}
          />
          <span>{choice.name}</span>
        </label>
      ))}
    </fieldset>
  );
}

function Drawn({ history }: { readonly history: RangedHistory }) {
  const [hidden, setHidden] = useState<ReadonlySet<Line>>(new Set());
  const [index, setIndex] = useState<number>();
  const shown = index !== undefined && index < history.at.length ? index : undefined;
  const toggle = (line: Line) =>
    setHidden((known) => {
      const next = new Set(known);
      return next.delete(line) ? next : next.add(line);
    });
  return (
    <figure className="history">
      <figcaption>{summaryOf(history, history.range)}</figcaption>
      <Legend history={history} hidden={hidden} index={shown} onToggle={toggle} />
      <Suspense fallback={<div className="history-chart" />}>
        <HistoryChart history={history} hidden={hidden} index={shown} onIndex={setIndex} />
      </Suspense>
      <Moment history={history} index={shown} onIndex={setIndex} />
      <Key history={history} />
      <HistoryTable history={history} />
    </figure>
  );
}

interface LegendProps {
  readonly history: MoodHistory;
  readonly hidden: ReadonlySet<Line>;
  readonly index: number | undefined;
  readonly onToggle: (line: Line) => void;
}

/** Which line is which, its value at the moment that is pointed at, and a way to hide it. */
function Legend({ history, hidden, index, onToggle }: LegendProps) {
  return (
    <fieldset className="history-legend">
      <legend className="visually-hidden">Lines of the chart</legend>
      {lines.map((line) => {
        const value = index === undefined ? undefined : valuesOf(history, line)[index];
        return (
          <button
            key={line}
            type="button"
            aria-pressed={!hidden.has(line)}
            onClick={() => onToggle(line)}
          >
            <span
              className={`swatch line-${line}`}
              style={{ borderTopColor: `var(--${line})` }}
              aria-hidden="true"
            />
            {asTitle(line)}
            {value === undefined || value === null ? null : <b>{percent(value)}</b>}
          </button>
        );
      })}
    </fieldset>
  );
}

interface MomentProps {
  readonly history: MoodHistory;
  readonly index: number | undefined;
  readonly onIndex: (index: number) => void;
}

/** A moment of the history, for keyboard and touch as well as by pointing into the chart. */
function Moment({ history, index, onIndex }: MomentProps) {
  const last = Math.max(0, history.at.length - 1);
  const at = index === undefined ? undefined : history.at[index];
  const mood = index === undefined ? null : (history.mood[index] ?? null);
  const says = at === undefined ? "" : `${fullTime(at)}: ${inWords(mood ?? "unknown")}`;
  const levels = lines.map(
    (line) => `${line} ${percent(valuesOf(history, line)[index ?? last] ?? 0)}`,
  );
  return (
    <div className="history-moment">
      <input
        type="range"
        min={0}
        max={last}
        step={1}
        value={index ?? last}
        aria-label="Point in time"
        aria-valuetext={mood === null ? says || "now" : `${says}, ${levels.join(", ")}`}
        onChange={(event) => onIndex(Number(event.target.value))}
      />
      <output>
        {says === "" ? "Point at the chart or move the slider to see one moment." : says}
      </output>
    </div>
  );
}

/** The legend of the marks that the chart has. */
function Key({ history }: { readonly history: MoodHistory }) {
  const groups = new Set(history.events.map(({ event }) => groupOf(event)));
  return (
    <ul className="fine history-key" aria-hidden="true">
      {groups.has("kindness") ? <li className="key-kindness">Kind event</li> : null}
      {groups.has("harm") ? <li className="key-harm">Harmful event</li> : null}
      {groups.has("other") ? <li className="key-other">Other event</li> : null}
      {history.wounds.length > 0 ? <li className="key-wound">Wound, until healed</li> : null}
      {downSpans(history).length > 0 ? <li className="key-down">Not running</li> : null}
    </ul>
  );
}
