import type { Emotions } from "../../api/openapi-types.ts";
import { percent } from "../../ui/in-words.ts";
import { emotions as names } from "./history-facts.ts";
import { asTitle } from "./words.ts";

/** The five levels with their baselines, and boredom. */
export function Levels({ emotions }: { readonly emotions: Emotions }) {
  return (
    <section className="card mood-levels" aria-labelledby="levels-title">
      <h2 id="levels-title">Levels</h2>
      <div className="levels">
        {names.map((name) => (
          <Level
            key={name}
            name={name}
            level={emotions.levels[name]}
            baseline={emotions.baselines[name]}
          />
        ))}
        <Level name="boredom" level={emotions.boredom} />
      </div>
      <p className="hint">The notch marks the baseline, to which a feeling returns by itself.</p>
    </section>
  );
}

interface LevelProps {
  readonly name: string;
  readonly level: number;
  readonly baseline?: number;
}

function Level({ name, level, baseline }: LevelProps) {
  const atRest = baseline === undefined ? "" : `, baseline ${percent(baseline)}`;
  return (
    <div className="level">
      <span aria-hidden="true">{asTitle(name)}</span>
      <meter
        className="visually-hidden"
        min={0}
        max={1}
        value={level}
        aria-label={asTitle(name)}
        aria-valuetext={`${percent(level)}${atRest}`}
      />
      <div className="level-track" aria-hidden="true">
        <div
          className="level-fill"
          style={{ width: `${level * 100}%`, background: `var(--${name})` }}
        />
        {baseline === undefined ? null : (
          <div className="level-notch" style={{ left: `${baseline * 100}%` }} />
        )}
      </div>
      <span className="level-value" aria-hidden="true">
        {percent(level)}
      </span>
    </div>
  );
}
