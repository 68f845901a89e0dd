import { useId } from "react";
import { Check } from "../ui/check.tsx";
import type { MomentFilter } from "./use-moments.ts";
import { ratings } from "./words.ts";

interface Props {
  readonly filter: MomentFilter;
  readonly onFilter: (filter: MomentFilter) => void;
}

const longestWords = 200;

/** Which moments are listed. */
export function MomentFilters({ filter, onFilter }: Props) {
  const search = useId();
  const change = (changed: Partial<MomentFilter>) => onFilter({ ...filter, ...changed });
  return (
    <search className="row moments-filters">
      <label className="visually-hidden" htmlFor={search}>
        Search moments
      </label>
      <input
        id={search}
        className="field"
        type="search"
        placeholder="Search moments"
        maxLength={longestWords}
        value={filter.words}
        onChange={(event) => change({ words: event.target.value })}
      />
      <select
        className="field"
        aria-label="Reaction"
        value={filter.sentiment}
        onChange={({ target }) =>
          change({ sentiment: sentiments.find((each) => each === target.value) ?? "" })
        }
      >
        <option value="">All reactions</option>
        {sentiments.map((sentiment) => (
          <option key={sentiment} value={sentiment}>
            {ratings[sentiment]}
          </option>
        ))}
      </select>
      <Check isOn={filter.hasMedia} set={(hasMedia) => change({ hasMedia })}>
        With pictures or sound
      </Check>
      <Check isOn={filter.isPreserved} set={(isPreserved) => change({ isPreserved })}>
        Preserved
      </Check>
    </search>
  );
}

const sentiments = ["positive", "negative"] as const;
